package registry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/twmb/franz-go/pkg/sr"
	"golang.org/x/sync/singleflight"

	"echosieve/pipeline/decode/avrojson"
	"echosieve/pipeline/record"
)

const (
	// mostSchemas, mostText and mostUnknown bound what is remembered of ids: schemas, bytes of their texts,
	// ids without a schema. Whoever writes records chooses their ids; those without a schema displace none.
	mostSchemas, mostText, mostUnknown = 1000, 8 << 20, 1000
	// unknownFor is how long an id counts as unknown before the registry is asked again.
	unknownFor = 5 * time.Second
	// mostRequests bounds the requests at a time.
	mostRequests = 8
)

// one is the schema of all values.
type one struct{ schema *avrojson.Schema }

// Schema implements decode.Schemas.
func (o one) Schema(context.Context, string) (*avrojson.Schema, error) { return o.schema, nil }

// Client asks a schema registry, and remembers what it said. Safe for concurrent use.
type Client struct {
	server   *sr.Client
	requests chan struct{}
	flights  singleflight.Group // by id
	now      func() time.Time
	patience time.Duration // patience; tests set a shorter one

	mu      sync.Mutex
	schemas *simplelru.LRU[string, found]
	text    int // bytes of the texts of schemas
	unknown *simplelru.LRU[string, unknown]
	good    string    // the id whose schema came last; "": none, or the registry has it no longer
	goodAt  time.Time // when it came
	dead    [2]time.Time
	away    atomic.Pointer[refusal] // the last one that made a call wait; nil: the registry has answered since
}

// found is a schema and the bytes of the texts that it was made of.
type found struct {
	schema *avrojson.Schema
	text   int
}

// unknown is why there is no schema for an id.
type unknown struct {
	why    *record.RejectError
	judged bool // for the service, which takes no other
	since  time.Time
}

func newClient(server *sr.Client) *Client {
	c := &Client{server: server, requests: make(chan struct{}, mostRequests), now: time.Now, patience: patience}
	c.schemas, _ = simplelru.NewLRU(mostSchemas, func(_ string, f found) { c.text -= f.text })
	c.unknown, _ = simplelru.NewLRU[string, unknown](mostUnknown, nil) // which fails for sizes below one
	return c
}

// Schema implements decode.Schemas. It asks once: an error that is no *record.RejectError is a *diag.Problem.
func (c *Client) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	if schema, err := c.remembered(id, false); schema != nil || err != nil {
		return schema, err
	}
	schema, err := c.fetch(ctx, id)
	if no := (*refusal)(nil); errors.As(err, &no) {
		if !no.unknown {
			return nil, no.problem
		}
		return nil, c.rememberUnknown(id, no.reject(id), false)
	}
	return schema, err
}

// fetch asks for a schema and remembers it, or a clear answer that there is none. Calls for one id share an answer.
func (c *Client) fetch(ctx context.Context, id string) (*avrojson.Schema, error) {
	shared := context.WithoutCancel(ctx)
	flight := c.flights.DoChan(id, func() (any, error) {
		ctx, end := context.WithTimeout(shared, askTimeout)
		defer end()
		select {
		case c.requests <- struct{}{}:
			defer func() { <-c.requests }()
		case <-ctx.Done(): // ask says so
		}
		schema, text, err := c.ask(ctx, id)
		var why *record.RejectError
		switch {
		case err == nil:
			c.rememberSchema(id, schema, text)
		case errors.As(err, &why):
			err = c.rememberUnknown(id, why, true)
		}
		return schema, err
	})
	select {
	case answer := <-flight:
		return answer.Val.(*avrojson.Schema), answer.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// remembered returns what is known of an id; judged: only what counts for the service. Both results are nil
// if nothing is.
func (c *Client) remembered(id string, judged bool) (*avrojson.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, known := c.schemas.Get(id); known {
		return f.schema, nil
	}
	if u, known := c.unknown.Get(id); known && (u.judged || !judged) && c.now().Before(u.since.Add(unknownFor)) {
		return nil, u.why
	}
	return nil, nil
}

func (c *Client) rememberSchema(id string, schema *avrojson.Schema, text int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schemas.Remove(id) // so that its text is counted once
	c.schemas.Add(id, found{schema, text})
	for c.text += text; c.text > mostText; {
		c.schemas.RemoveOldest()
	}
	c.unknown.Remove(id)
	c.good, c.goodAt = id, c.now()
	c.away.Store(nil)
}

func (c *Client) rememberUnknown(id string, why *record.RejectError, judged bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, _ := c.unknown.Peek(id)
	c.unknown.Add(id, unknown{why, judged || before.judged, c.now()})
	return why
}
