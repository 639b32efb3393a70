package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/decode/avrojson"
)

// A refusal has two outcomes. If it is about the id, stays so for as long as patience, and the registry has answered
// for some id rightly in between, such as for Ping, the record is a dead letter. Otherwise the record waits, and says
// so.
const (
	// patience is how long a registry, or one node of it, may lag behind: an id is asked for again meanwhile.
	patience = 5 * time.Second
	// lately is how long a dead letter shows that somebody makes ids up: the next id needs no patience, because each one
	// would stop its partition.
	lately = time.Minute
)

// Waiting returns the schemas for the service. Its errors are *decode.Pending, which wait and ask again, or
// *record.RejectError. report is called with why a call waits while the registry does not answer, and with
// nil when it waits no longer.
func (c *Client) Waiting(report func(component string, call fmt.Stringer, err error)) decode.Schemas {
	return waiting{c, report}
}

type waiting struct {
	*Client
	report func(component string, call fmt.Stringer, err error)
}

// request is a call that waits.
type request struct {
	id, record string
	refused    time.Time // since when the registry refuses the id; zero: its last answer was not about the id
}

func (r *request) String() string { return fmt.Sprintf("schema %s of %s", r.id, r.record) }

// Component is the name of the registry among the servers of the service.
const Component = "registry"

// Schema implements decode.Schemas.
func (w waiting) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	call, no := &request{id: id}, (*refusal)(nil)
	schema, err := w.try(ctx, call)
	if ctx.Err() != nil || !errors.As(err, &no) {
		return schema, err
	}
	return nil, &decode.Pending{Schema: id, Why: no.problem, Settle: func(ctx context.Context, record string) error {
		call.record = record
		return w.settle(ctx, call, no)
	}}
}

// settle asks for a schema until it is known whether there is one.
func (w waiting) settle(ctx context.Context, call *request, no *refusal) error {
	defer w.report(Component, call, nil)
	for {
		w.report(Component, call, w.fault(call, no))
		select {
		case <-time.After(w.patience / 5):
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := w.try(ctx, call)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.As(err, &no) {
			return nil
		}
	}
}

// fault returns why a call that waits shows that the registry is down, unless it refuses this id alone.
func (w waiting) fault(call *request, no *refusal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if call.refused.IsZero() || w.now().Sub(call.refused) > w.patience && w.goodAt.Before(call.refused) {
		return no.problem
	}
	return nil
}

// try asks once. An error is a *record.RejectError, or a *refusal after which the registry is to be asked
// again, or that of ctx.
func (w waiting) try(ctx context.Context, call *request) (*avrojson.Schema, error) {
	schema, err := w.fetch(ctx, call.id)
	var no *refusal
	if !errors.As(err, &no) || ctx.Err() != nil {
		return schema, err
	}
	if !no.aboutID {
		call.refused = time.Time{}
		return nil, no
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if call.refused.IsZero() {
		call.refused = now
	}
	workedIn := func(from, to time.Time) bool { return !w.goodAt.Before(from) && !w.goodAt.After(to) }
	patient := now.Sub(call.refused) >= w.patience && workedIn(call.refused, no.asked)
	if !patient && (now.Sub(w.dead) >= lately || !workedIn(now.Add(-w.patience), now)) {
		return nil, no
	}
	if patient {
		w.dead = now
	}
	why := no.reject(call.id)
	w.rememberUnknown(call.id, why)
	return nil, why
}
