package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/twmb/franz-go/pkg/sr"
	"golang.org/x/sync/singleflight"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	// mostSchemas, mostText and mostUnknown bound what is remembered of ids: schemas, bytes of their texts,
	// ids without a schema. Whoever writes records chooses their ids; those without a schema displace none.
	mostSchemas, mostText, mostUnknown = 1000, 8 << 20, 1000
	// unknownFor is how long an id counts as unknown, at most, before the registry is asked again.
	unknownFor = 5 * time.Second
)

// one is the schema of all values.
type one struct{ schema *decode.Schema }

// Schema implements decode.Schemas.
func (o one) Schema(context.Context, string) (*decode.Schema, error) { return o.schema, nil }

// Client asks a schema registry, and remembers what it said. Safe for concurrent use.
type Client struct {
	server   *sr.Client
	flights  singleflight.Group // by id
	now      func() time.Time
	patience time.Duration // patience; tests set a shorter one

	mu      sync.Mutex
	schemas *simplelru.LRU[string, found]
	text    int                            // bytes of the texts of schemas
	unknown map[string]*record.RejectError // why there is no schema for an id; all of them are forgotten at a time
	since   time.Time                      // when they were forgotten last
	good    answered                       // the last one; zero: none
	dead    time.Time                      // when an id last became a dead letter after patience
}

// answered is an id whose schema has come.
type answered struct {
	id          string
	asked, came time.Time
}

// found is a schema and the bytes of the texts that it was made of.
type found struct {
	schema *decode.Schema
	text   int
}

func newClient(server *sr.Client) *Client {
	c := &Client{server: server, now: time.Now, patience: patience, unknown: map[string]*record.RejectError{}}
	c.schemas, _ = simplelru.NewLRU(mostSchemas, func(_ string, f found) { c.text -= f.text }) // fails for sizes below one
	return c
}

// Schema implements decode.Schemas. It asks once: an error that is no *record.RejectError is a *diag.Problem.
func (c *Client) Schema(ctx context.Context, id string) (*decode.Schema, error) {
	schema, err := c.fetch(ctx, id)
	no := (*refusal)(nil)
	switch {
	case !errors.As(err, &no):
		return schema, err
	case no.unknown:
		return nil, unknownID(id)
	default:
		return nil, no.problem
	}
}

// fetch returns a schema that is remembered, or asks for it and remembers it, or a clear answer that there is none.
// Calls for one id share an answer.
func (c *Client) fetch(ctx context.Context, id string) (*decode.Schema, error) {
	if schema, err := c.remembered(id); schema != nil || err != nil {
		return schema, err
	}
	shared := context.WithoutCancel(ctx)
	flight := c.flights.DoChan(id, func() (any, error) {
		ctx, end := context.WithTimeout(shared, askTimeout)
		defer end()
		asked := c.now()
		schema, text, err := c.ask(ctx, id)
		c.mu.Lock()
		defer c.mu.Unlock()
		switch why := err.(type) { //nolint:errorlint // as ask returns it
		case nil:
			c.rememberSchema(id, schema, text, asked)
		case *record.RejectError:
			c.rememberUnknown(id, why)
		case *refusal:
			why.asked = asked
		}
		return schema, err
	})
	select {
	case answer := <-flight:
		return answer.Val.(*decode.Schema), answer.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// remembered returns what is known of an id. Both results are nil if nothing is.
func (c *Client) remembered(id string) (*decode.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, known := c.schemas.Get(id); known {
		return f.schema, nil
	}
	if why, known := c.unknown[id]; known && c.now().Before(c.since.Add(unknownFor)) {
		return nil, why
	}
	return nil, nil
}

// rememberSchema needs the lock, as rememberUnknown does.
func (c *Client) rememberSchema(id string, schema *decode.Schema, text int, asked time.Time) {
	c.schemas.Remove(id) // so that its text is counted once
	c.schemas.Add(id, found{schema, text})
	for c.text += text; c.text > mostText; {
		c.schemas.RemoveOldest()
	}
	c.good = answered{id, asked, c.now()}
}

func (c *Client) rememberUnknown(id string, why *record.RejectError) {
	if now := c.now(); len(c.unknown) == mostUnknown || !now.Before(c.since.Add(unknownFor)) {
		clear(c.unknown)
		c.since = now
	}
	c.unknown[id] = why
}

// Ping asks the registry for the schema that came last, and otherwise for one that it lists: each answer shows that it
// works. A registry without a schema, or one that shows this user no list, counts as up.
func (c *Client) Ping(ctx context.Context) error {
	c.mu.Lock()
	id, asked := c.good.id, c.now()
	c.mu.Unlock()
	if id != "" {
		_, err := c.byID(ctx, id)
		if err == nil {
			c.worked(id, asked)
			return nil
		}
		if no := newRefusal(err); !no.unknown { // otherwise somebody may have deleted it
			return no.problem
		}
	}
	subjects, err := c.server.Subjects(sr.WithParams(ctx, sr.Limit(1)))
	if err != nil {
		no := newRefusal(err)
		if no.status == http.StatusForbidden {
			return nil
		}
		return no.problem
	}
	if len(subjects) > 0 {
		if listed, err := c.server.SchemaByVersion(ctx, subjects[0], -1); err == nil && listed.Schema.Schema != "" {
			c.worked(strconv.Itoa(listed.ID), asked)
		}
	}
	return nil
}

// worked notes an id whose schema has come.
func (c *Client) worked(id string, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.good = answered{id, asked, c.now()}
}

// A refusal has two outcomes. If the registry says that it does not know the id, says so for as long as patience, and
// has answered for some id rightly in between, such as for Ping, the record is a dead letter. Otherwise the record
// waits, and says so.
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
	refused    time.Time // since when the registry does not know the id; zero: its last answer was another one
}

func (r *request) String() string { return fmt.Sprintf("schema %s of %s", r.id, r.record) }

// Component is the name of the registry among the servers of the service.
const Component = "registry"

// Schema implements decode.Schemas.
func (w waiting) Schema(ctx context.Context, id string) (*decode.Schema, error) {
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

// fault returns why a call that waits shows that the registry is down, unless it does not know this id alone.
func (w waiting) fault(call *request, no *refusal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if call.refused.IsZero() || w.now().Sub(call.refused) > w.patience && w.good.asked.Before(call.refused) {
		return no.problem
	}
	return nil
}

// try asks once. An error is a *record.RejectError, or a *refusal after which the registry is to be asked
// again, or that of ctx.
func (w waiting) try(ctx context.Context, call *request) (*decode.Schema, error) {
	schema, err := w.fetch(ctx, call.id)
	var no *refusal
	if !errors.As(err, &no) || ctx.Err() != nil {
		return schema, err
	}
	if !no.unknown {
		call.refused = time.Time{}
		return nil, no
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if call.refused.IsZero() {
		call.refused = now
	}
	workedIn := func(from, to time.Time) bool { return !w.good.asked.Before(from) && !w.good.came.After(to) }
	patient := now.Sub(call.refused) >= w.patience && workedIn(call.refused, no.asked)
	if !patient && (now.Sub(w.dead) >= lately || !workedIn(now.Add(-w.patience), now)) {
		return nil, no
	}
	if patient {
		w.dead = now
	}
	why := unknownID(call.id)
	w.rememberUnknown(call.id, why)
	return nil, why
}
