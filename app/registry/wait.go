package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/decode/avrojson"
)

// A refusal belongs to the id, and not to the registry, if the registry answers sensibly for another id
// afterwards, again and again for as long as patience. Then the record is a dead letter. Otherwise it waits:
// a registry that is away, or refuses everything, makes no dead letters.
const (
	// patience is how long a registry, or one node of it, may lag behind: an id is asked for again meanwhile.
	patience = 5 * time.Second
	// tries is how often an id is asked for at least.
	tries = 3
	// enough ids with the same answer within alikeFor show how the registry answers for ids that it does not
	// have. The next one needs no patience: whoever writes records chooses their ids.
	enough   = 2
	alikeFor = time.Minute
)

// verdicts are the times when patience with an id ended, by the answer.
type verdicts map[string][]time.Time

// trial is how often the registry has refused an id in a row while it answered for others.
type trial struct {
	since time.Time
	times int
}

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
type request struct{ id, record string }

func (r *request) String() string { return fmt.Sprintf("schema %s of %s", r.id, r.record) }

// Component is the name of the registry among the servers of the service.
const Component = "registry"

// Schema implements decode.Schemas.
func (w waiting) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	if schema, err := w.remembered(id, true); schema != nil || err != nil {
		return schema, err
	}
	t, no := &trial{}, w.isAway()
	if no == nil {
		schema, err := w.try(ctx, id, t)
		if ctx.Err() != nil || !errors.As(err, &no) {
			return schema, err
		}
	}
	return nil, &decode.Pending{Schema: id, Why: no.problem, Settle: func(ctx context.Context, record string) error {
		return w.settle(ctx, &request{id, record}, no, t)
	}}
}

// settle asks for a schema, after pauses that grow to some seconds, until it is known whether there is one.
func (w waiting) settle(ctx context.Context, call *request, no *refusal, t *trial) error {
	defer w.report(Component, call, nil)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = w.patience/50, w.patience
	for {
		if t.times == 0 {
			w.report(Component, call, no.problem)
		} else {
			w.report(Component, call, nil)
		}
		if t.times == 1 {
			pause.Reset()
		}
		select {
		case <-time.After(min(pause.NextBackOff(), t.left(w.now(), w.patience))):
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := w.try(ctx, call.id, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.As(err, &no) {
			return nil
		}
	}
}

// left returns how long patience with the id lasts.
func (t *trial) left(now time.Time, patience time.Duration) time.Duration {
	if t.times == 0 {
		return patience
	}
	return max(t.since.Add(patience).Sub(now), 10*time.Millisecond)
}

// try asks once. An error is a *record.RejectError, or a *refusal after which the registry is to be asked
// again, or that of ctx.
func (w waiting) try(ctx context.Context, id string, t *trial) (*avrojson.Schema, error) {
	if schema, err := w.remembered(id, true); schema != nil || err != nil {
		return schema, err
	}
	leave, err := w.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if schema, err := w.remembered(id, true); schema != nil || err != nil {
		return schema, err // another call has asked meanwhile
	}
	schema, err := w.fetch(ctx, id)
	var no *refusal
	if !errors.As(err, &no) || ctx.Err() != nil {
		return schema, err
	}
	if !w.answersOthers(ctx, id, no) {
		*t = trial{}
		w.setAway(no)
		return nil, no
	}
	if t.times++; t.times == 1 {
		t.since = w.now()
	}
	patient := t.times >= tries && w.now().Sub(t.since) >= w.patience
	if !patient && !w.isClear(id, no.answer) {
		return nil, no
	}
	if patient {
		w.judged(no.answer)
	}
	return nil, w.rememberUnknown(id, no.reject(id), true)
}

// isClear says whether an answer needs no patience: the id or enough others have got it with patience not long ago.
func (c *Client) isClear(id, answer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	u, known := c.unknown[id]
	times := c.verdicts[answer]
	return known && u.judged && now.Before(u.since.Add(alikeFor)) || len(times) == enough &&
		now.Before(times[0].Add(alikeFor))
}

// judged notes that patience with an id has ended.
func (c *Client) judged(answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := append(c.verdicts[answer], c.now())
	c.verdicts[answer] = times[max(len(times)-enough, 0):]
}

// isAway returns why the registry has just answered for no id; nil: it may answer. A call that waited for
// that would hold the memory of its batch.
func (c *Client) isAway() *refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Before(c.awayTill) {
		return c.away
	}
	return nil
}

func (c *Client) setAway(no *refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.awayTill = no, c.now().Add(c.patience)
}
