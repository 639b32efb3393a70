package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/sr"

	"echosieve/internal/base/diag"
	"echosieve/pipeline"
	"echosieve/pipeline/avrojson"
)

const (
	// mostSchemas and mostUnknown bound what is remembered of ids. Whoever writes records chooses their ids.
	mostSchemas, mostUnknown = 1000, 1000
	// unknownFor is how long an id counts as unknown before the registry is asked again.
	unknownFor = time.Minute
	// mostRequests bounds the requests at a time.
	mostRequests = 4
	// mostReferences bounds the schemas that one schema names, and those that they name.
	mostReferences = 100
)

// one is the schema of all values.
type one struct{ schema *avrojson.Schema }

// Schema implements pipeline.Schemas.
func (o one) Schema(context.Context, string) (*avrojson.Schema, error) { return o.schema, nil }

// Client asks a schema registry, and remembers what it said. Safe for concurrent use.
type Client struct {
	server   *sr.Client
	requests chan struct{}
	now      func() time.Time

	mu      sync.Mutex
	schemas map[string]*avrojson.Schema
	unknown map[string]refusal
}

// refusal is why there is no schema for an id.
type refusal struct {
	why   *pipeline.RejectError
	until time.Time
}

func newClient(server *sr.Client) *Client {
	return &Client{
		server: server, requests: make(chan struct{}, mostRequests), now: time.Now,
		schemas: map[string]*avrojson.Schema{}, unknown: map[string]refusal{},
	}
}

// Schema implements pipeline.Schemas. It asks once: an error that is no *pipeline.RejectError is a *diag.Problem.
func (c *Client) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	if schema, err := c.remembered(id); schema != nil || err != nil {
		return schema, err
	}
	select {
	case c.requests <- struct{}{}:
		defer func() { <-c.requests }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if schema, err := c.remembered(id); schema != nil || err != nil {
		return schema, err // another call has asked meanwhile
	}
	schema, err := c.ask(ctx, id)
	c.remember(id, schema, err)
	return schema, err
}

func (c *Client) remembered(id string) (*avrojson.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema := c.schemas[id]; schema != nil {
		return schema, nil
	}
	if r, known := c.unknown[id]; known && c.now().Before(r.until) {
		return nil, r.why
	}
	return nil, nil
}

func (c *Client) remember(id string, schema *avrojson.Schema, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var why *pipeline.RejectError
	switch {
	case err == nil:
		makeRoom(c.schemas, mostSchemas)
		c.schemas[id] = schema
		delete(c.unknown, id)
	case errors.As(err, &why):
		makeRoom(c.unknown, mostUnknown)
		c.unknown[id] = refusal{why, c.now().Add(unknownFor)}
	}
}

// makeRoom removes any one entry from a map that is full.
func makeRoom[V any](m map[string]V, most int) {
	for key := range m {
		if len(m) < most {
			return
		}
		delete(m, key)
	}
}

// ask asks the registry for a schema and for those that it names.
func (c *Client) ask(ctx context.Context, id string) (*avrojson.Schema, error) {
	var found sr.Schema
	var err error
	switch number, notNumber := strconv.Atoi(id); {
	case id == "":
		return nil, noSchema("the record's header names no schema")
	case notNumber != nil:
		var s sr.SubjectSchema
		s, err = c.server.SchemaByGUID(ctx, id)
		found = s.Schema
	default:
		found, err = c.server.SchemaByID(ctx, number)
	}
	if isUnknown(err) {
		return nil, noSchema("the registry knows no schema %s", id)
	}
	if err != nil {
		return nil, explain(err)
	}
	if found.Type != sr.TypeAvro {
		return nil, noSchema("schema %s is of the type %s, and input.format is avro", id, found.Type)
	}
	texts, err := c.references(ctx, found, map[string]bool{})
	if isUnknown(err) {
		return nil, noSchema("schema %s names one that the registry does not know", id)
	}
	if err != nil {
		return nil, explain(err)
	}
	schema, err := avrojson.Parse(found.Schema, texts...)
	if err != nil {
		return nil, noSchema("schema %s is none that Avro allows: %v", id, err)
	}
	return schema, nil
}

// references returns the schemas that a schema names, each behind those that it names itself.
func (c *Client) references(ctx context.Context, of sr.Schema, seen map[string]bool) (texts []string, err error) {
	for _, r := range of.References {
		key := fmt.Sprintf("%s %d", r.Subject, r.Version)
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > mostReferences {
			return nil, noSchema("a schema names more than %d others", mostReferences)
		}
		found, err := c.server.SchemaByVersion(ctx, r.Subject, r.Version)
		if err != nil {
			return nil, err
		}
		before, err := c.references(ctx, found.Schema, seen)
		if err != nil {
			return nil, err
		}
		texts = append(append(texts, before...), found.Schema.Schema)
	}
	return texts, nil
}

func noSchema(format string, args ...any) *pipeline.RejectError {
	return &pipeline.RejectError{Reason: pipeline.NoSchema, Detail: fmt.Sprintf(format, args...)}
}

// isUnknown says whether the registry answered that it does not know what was asked for. A page in HTML is the answer of a proxy that does
// not find the registry.
func isUnknown(err error) bool {
	var refused *sr.ResponseError
	return errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound && !strings.HasPrefix(strings.TrimSpace(string(refused.Raw)), "<")
}

// explained names the registry in explanations.
var explained = diag.Server{
	Name: "the schema registry", Possessive: "the schema registry's", Kind: "schema registry", Settings: "input.registry", Addresses: "input.registry.urls",
	AlsoCheck: " and the port", TLSSetting: "the registry's listener", ClosedHint: "if it expects TLS, begin input.registry.urls with https://",
	SlowHint: "check its load and the network",
}

// explain says why the registry gave no answer. The error may be a *pipeline.RejectError, which it returns unchanged.
func explain(err error) error {
	var refused *sr.ResponseError
	var reject *pipeline.RejectError
	switch {
	case errors.As(err, &reject):
		return reject
	case !errors.As(err, &refused):
		if p := explained.Explain(err); p != nil {
			return p
		}
		return &diag.Problem{Cause: "the schema registry gave no answer", Remedy: "check that it runs, and input.registry.urls", Err: err}
	}
	status := fmt.Errorf("%s answered with status %d", refused.URL, refused.StatusCode)
	switch refused.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &diag.Problem{
			Cause: "the schema registry refuses this user", Err: status,
			Remedy: "check input.registry.username and password_file, and let the user read schemas",
		}
	case http.StatusNotFound:
		return &diag.Problem{Cause: "there is no schema registry at this address", Remedy: "check the path in input.registry.urls, and the proxy before it", Err: status}
	}
	return &diag.Problem{Cause: "the schema registry cannot answer", Remedy: "look at its log", Err: status}
}

// Ping asks the registry whether it answers. Any answer that a schema could come with counts.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.server.SupportedTypes(ctx)
	if isUnknown(err) {
		return nil // some registries do not tell types
	}
	if err != nil {
		return explain(err)
	}
	return nil
}

// Waiting returns the schemas for the service: it asks again, after pauses that grow to about 5 seconds, as long as the registry does not
// answer, until ctx ends. report is called with why a call waits, and with nil when it waits no longer.
func (c *Client) Waiting(report func(component string, call fmt.Stringer, err error)) pipeline.Schemas {
	return waiting{c, report}
}

type waiting struct {
	*Client
	report func(component string, call fmt.Stringer, err error)
}

// request is a call that waits.
type request struct{ id string }

func (r *request) String() string { return "schema " + r.id }

// Component is the name of the registry among the servers of the service.
const Component = "registry"

// Schema implements pipeline.Schemas.
func (w waiting) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	if schema, err := w.remembered(id); schema != nil || err != nil {
		return schema, err
	}
	call := &request{id}
	defer w.report(Component, call, nil)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 5*time.Second
	return backoff.Retry(ctx, func() (*avrojson.Schema, error) {
		schema, err := w.Client.Schema(ctx, id)
		if reject := (*pipeline.RejectError)(nil); errors.As(err, &reject) {
			return nil, backoff.Permanent(err)
		}
		if err != nil && ctx.Err() == nil {
			w.report(Component, call, err)
		}
		return schema, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
}
