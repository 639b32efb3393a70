package registry

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"echosieve/pipeline/decode/avrojson"
	"echosieve/pipeline/record"
)

const (
	// mostSchemas, mostText and mostUnknown bound what is remembered of ids: schemas, bytes of their texts,
	// ids without a schema. Whoever writes records chooses their ids.
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
	now      func() time.Time

	mu      sync.Mutex
	schemas map[string]found
	text    int    // bytes of the texts of schemas
	good    string // the id whose schema came last
	unknown map[string]unknown
	verdicts
	away     *refusal // the last one after which the registry answered for no other id, until awayTill
	awayTill time.Time
	patience time.Duration // patience; tests set a shorter one
}

// found is a schema and the bytes of the texts that it was made of.
type found struct {
	schema *avrojson.Schema
	text   int
}

// unknown is why there is no schema for an id.
type unknown struct {
	why    *record.RejectError
	judged bool // with patience, or by a clear answer: the service takes no other
	since  time.Time
}

func newClient(server *sr.Client) *Client {
	return &Client{
		server: server, requests: make(chan struct{}, mostRequests), now: time.Now,
		schemas: map[string]found{}, unknown: map[string]unknown{}, verdicts: verdicts{}, patience: patience,
	}
}

// Schema implements decode.Schemas. It asks once: an error that is no *record.RejectError is a *diag.Problem.
func (c *Client) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	if schema, err := c.remembered(id, false); schema != nil || err != nil {
		return schema, err
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if schema, err := c.remembered(id, false); schema != nil || err != nil {
		return schema, err // another call has asked meanwhile
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

// enter waits until a request may be sent. The caller calls leave afterwards.
func (c *Client) enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.requests <- struct{}{}:
		return func() { <-c.requests }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fetch asks for a schema and remembers it, or a clear answer that there is none.
func (c *Client) fetch(ctx context.Context, id string) (*avrojson.Schema, error) {
	schema, text, err := c.ask(ctx, id)
	var why *record.RejectError
	switch {
	case err == nil:
		c.rememberSchema(id, schema, text)
	case errors.As(err, &why):
		return nil, c.rememberUnknown(id, why, true)
	}
	return schema, err
}

// remembered returns what is known of an id; judged: only what counts for the service. Both results are nil
// if nothing is.
func (c *Client) remembered(id string, judged bool) (*avrojson.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, known := c.schemas[id]; known {
		return f.schema, nil
	}
	if u, known := c.unknown[id]; known && (u.judged || !judged) && c.now().Before(u.since.Add(unknownFor)) {
		return nil, u.why
	}
	return nil, nil
}

func (c *Client) rememberSchema(id string, schema *avrojson.Schema, text int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, f := range c.schemas { // any that comes first
		if len(c.schemas) < mostSchemas && c.text+text <= mostText {
			break
		}
		delete(c.schemas, other)
		c.text -= f.text
	}
	c.text += text - c.schemas[id].text
	c.schemas[id], c.good = found{schema, text}, id
	c.awayTill = time.Time{}
	delete(c.unknown, id)
}

func (c *Client) rememberUnknown(id string, why *record.RejectError, judged bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.unknown {
		if len(c.unknown) < mostUnknown {
			break
		}
		delete(c.unknown, other)
	}
	c.unknown[id] = unknown{why, judged || c.unknown[id].judged, c.now()}
	return why
}
