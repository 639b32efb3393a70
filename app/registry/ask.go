package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"echosieve/internal/diag"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	// mostReferences bounds the schemas that one schema names, and those that they name.
	mostReferences = 100
	// askTimeout bounds the requests for one schema and those that it names.
	askTimeout = 10 * time.Second
)

// refusal is an answer, or none, after which the registry is to be asked again.
type refusal struct {
	status  int // of the answer; 0: there was none, or a success
	asked   time.Time
	unknown bool // a registry says that it does not know what was asked for
	problem *diag.Problem
}

func (r *refusal) Error() string { return r.problem.Error() }

// unknownID says that there is no schema of the id.
func unknownID(id string) *record.RejectError {
	return record.Reject(record.NoSchema, "the registry knows no schema %s, or none that it names", id)
}

// ask asks the registry for a schema and for those that it names. text is the bytes of their texts. An error
// is a *record.RejectError or a *refusal.
func (c *Client) ask(ctx context.Context, id string) (schema *decode.Schema, text int, err error) {
	if id == "" {
		return nil, 0, record.Reject(record.NoSchema, "the record's header names no schema")
	}
	found, err := c.byID(ctx, id)
	switch {
	case err != nil:
		return nil, 0, newRefusal(err)
	case found.Type != sr.TypeAvro:
		return nil, 0, record.Reject(record.NoSchema, "schema %s is of the type %s, and input.format is avro", id, found.Type)
	}
	left := mostAnswer - len(found.Schema)
	texts, err := c.references(ctx, found, map[string]bool{}, &left)
	if reject := (*record.RejectError)(nil); errors.As(err, &reject) {
		return nil, 0, reject
	}
	if err != nil {
		return nil, 0, newRefusal(err)
	}
	if schema, err = decode.ParseSchema(found.Schema, texts...); err != nil {
		return nil, 0, record.Reject(record.NoSchema, "schema %s is none that Avro allows: %v", id, err)
	}
	return schema, mostAnswer - left, nil
}

// errEmpty is an answer in JSON without a schema, such as a proxy's.
var errEmpty = errors.New("the answer holds no schema")

func (c *Client) byID(ctx context.Context, id string) (found sr.Schema, err error) {
	if number, notNumber := strconv.Atoi(id); notNumber == nil {
		found, err = c.server.SchemaByID(ctx, number)
	} else {
		var s sr.SubjectSchema
		s, err = c.server.SchemaByGUID(ctx, id)
		found = s.Schema
	}
	if err == nil && found.Schema == "" {
		err = errEmpty
	}
	return found, err
}

// references returns the schemas that a schema names, each behind those that it names itself. left is how many bytes
// they may have.
func (c *Client) references(ctx context.Context, of sr.Schema, seen map[string]bool, left *int) (
	texts []string, err error,
) {
	for _, r := range of.References {
		key := fmt.Sprintf("%s %d", r.Subject, r.Version)
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > mostReferences {
			return nil, record.Reject(record.NoSchema, "a schema names more than %d others", mostReferences)
		}
		found, err := c.server.SchemaByVersion(ctx, r.Subject, r.Version)
		if err != nil {
			return nil, err
		}
		if *left -= len(found.Schema.Schema); *left < 0 {
			return nil, record.Reject(record.NoSchema, "a schema and those that it names have more than 2 MiB")
		}
		before, err := c.references(ctx, found.Schema, seen, left)
		if err != nil {
			return nil, err
		}
		texts = append(append(texts, before...), found.Schema.Schema)
	}
	return texts, nil
}

// isUnknown says whether an answer has one of the codes of an interface of registries: no subject, no version, no
// schema. Web servers have others, or none.
func isUnknown(refused *sr.ResponseError) bool {
	return refused.StatusCode == http.StatusNotFound && refused.ErrorCode/100 == http.StatusNotFound
}

// newRefusal explains why a request has brought no schema.
func newRefusal(err error) *refusal {
	var refused *sr.ResponseError
	var unanswered *url.Error
	p := explained.Explain(err)
	switch {
	case errors.As(err, &refused):
		return &refusal{status: refused.StatusCode, unknown: isUnknown(refused), problem: explainStatus(refused)}
	case p != nil:
	case errors.As(err, &unanswered):
		p = &diag.Problem{Cause: "the schema registry gave no answer",
			Remedy: "check that it runs, and input.registry.urls", Err: err}
	default:
		if errors.As(err, new(*http.MaxBytesError)) {
			err = errors.New("it has more than 2 MiB")
		}
		p = &diag.Problem{Cause: "the schema registry gave an answer without a schema", Err: err,
			Remedy: "check input.registry.urls: a login page or a proxy may answer in its place"}
	}
	return &refusal{problem: p}
}

// explained names the registry in explanations.
var explained = diag.Server{
	Name: "the schema registry", Kind: "schema registry", TLS: "input.registry.tls", Addresses: "input.registry.urls",
	PlainHint: "begin input.registry.urls with http://, or use the TLS port",
	AlsoCheck: " and the port", TLSSetting: "the registry's listener",
	ClosedHint: "if it expects TLS, begin input.registry.urls with https://",
	SlowHint:   "check its load and the network",
}

// explainStatus says what a status means that is no success.
func explainStatus(refused *sr.ResponseError) *diag.Problem {
	p := &diag.Problem{Err: fmt.Errorf("%s answered with status %d", refused.URL, refused.StatusCode)}
	switch status := refused.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		p.Cause, p.Remedy = "the schema registry refuses this user",
			"check input.registry.username and password_file, and let the user read schemas"
	case status < http.StatusBadRequest:
		p.Cause, p.Remedy = "the schema registry leads to another server",
			"set input.registry.urls to the address that it leads to, unless that is a login page"
	case isUnknown(refused):
		p.Cause, p.Remedy = "the schema registry knows no schema that it is asked for",
			"check that it has its data, and that input.registry.urls names the registry of who publishes"
	case status == http.StatusNotFound:
		p.Cause, p.Remedy = "there is no schema registry at this address",
			"check the path in input.registry.urls, and the proxy before it"
	case status == http.StatusTooManyRequests:
		p.Cause, p.Remedy = "the schema registry takes no more requests now",
			"raise its limit of requests for this user"
	default:
		p.Cause, p.Remedy = "the schema registry cannot answer", "look at its log"
	}
	return p
}
