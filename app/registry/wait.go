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
// for another id rightly not long ago, the record is a dead letter. Otherwise the record waits, and says so.
const (
	// patience is how long a registry, or one node of it, may lag behind: an id is asked for again meanwhile.
	patience = 5 * time.Second
	// lately is how long a right answer shows that the registry works. It is also how long two dead letters show that
	// somebody makes ids up: the next id needs no patience, because each one would stop its partition.
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
	refused    time.Time // since when the registry has refused the id, and works; zero: it may not work
}

func (r *request) String() string { return fmt.Sprintf("schema %s of %s", r.id, r.record) }

// Component is the name of the registry among the servers of the service.
const Component = "registry"

// Schema implements decode.Schemas. While the registry is away it does not ask: the caller holds the memory of its
// batch until the call is pending.
func (w waiting) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	if schema, err := w.remembered(id, true); schema != nil || err != nil {
		return schema, err
	}
	call, no := &request{id: id}, w.away.Load()
	if no == nil {
		schema, err := w.try(ctx, call)
		if ctx.Err() != nil || !errors.As(err, &no) {
			return schema, err
		}
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
		if call.refused.IsZero() {
			w.report(Component, call, no.problem)
		} else {
			w.report(Component, call, nil)
		}
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

// try asks once. An error is a *record.RejectError, or a *refusal after which the registry is to be asked
// again, or that of ctx.
func (w waiting) try(ctx context.Context, call *request) (*avrojson.Schema, error) {
	if schema, err := w.remembered(call.id, true); schema != nil || err != nil {
		return schema, err
	}
	schema, err := w.fetch(ctx, call.id)
	var no *refusal
	if !errors.As(err, &no) || ctx.Err() != nil {
		return schema, err
	}
	now := w.now()
	if !no.aboutID || !w.works(ctx, now.Add(-lately)) {
		call.refused = time.Time{}
		w.away.Store(no)
		return nil, no
	}
	if w.away.Store(nil); call.refused.IsZero() {
		call.refused = now
	}
	patient := now.Sub(call.refused) >= w.patience && w.works(ctx, call.refused)
	if !patient && !w.isFlooded() {
		return nil, no
	}
	if patient {
		w.mu.Lock()
		w.dead = [2]time.Time{w.dead[1], w.now()}
		w.mu.Unlock()
	}
	return nil, w.rememberUnknown(call.id, no.reject(call.id), true)
}

// works says whether the registry has answered for some id rightly since a time.
func (c *Client) works(ctx context.Context, since time.Time) bool {
	right := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.good != "" && !c.goodAt.Before(since)
	}
	return right() || c.Ping(ctx) == nil && right()
}

// isFlooded says whether two ids have lately become dead letters with patience.
func (c *Client) isFlooded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Sub(c.dead[0]) < lately
}
