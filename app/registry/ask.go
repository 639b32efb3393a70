package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"echosieve/internal/diag"
	"echosieve/pipeline/decode/avrojson"
	"echosieve/pipeline/record"
)

const (
	// mostReferences bounds the schemas that one schema names, and those that they name.
	mostReferences = 100
	// askTimeout bounds the requests for one schema and those that it names.
	askTimeout = 10 * time.Second
)

// refusal is an answer, or none, that does not say whether there is a schema for every record.
type refusal struct {
	answer  string // such as "with status 401"
	status  int    // 0: there was no answer
	unknown bool   // a registry says that it does not know what was asked for
	detail  string // of unknown
	problem *diag.Problem
}

func (r *refusal) Error() string { return r.problem.Error() }

// aboutRequest says whether the status speaks of what was asked for, and not of who asks or of how the registry is.
func (r *refusal) aboutRequest() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone,
		http.StatusRequestURITooLong, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
		http.StatusNotImplemented:
		return true
	}
	return false
}

// reject says that the refusal belongs to the id.
func (r *refusal) reject(id string) *record.RejectError {
	if r.unknown {
		return record.Reject(record.NoSchema, "%s", r.detail)
	}
	return record.Reject(record.NoSchema,
		"the registry answers %s for schema %s, while it answers for others", r.answer, id)
}

// ask asks the registry for a schema and for those that it names. text is the bytes of their texts. An error
// is a *record.RejectError or a *refusal.
func (c *Client) ask(ctx context.Context, id string) (schema *avrojson.Schema, text int, err error) {
	if id == "" {
		return nil, 0, record.Reject(record.NoSchema, "the record's header names no schema")
	}
	ctx, end := context.WithTimeout(ctx, askTimeout)
	defer end()
	ctx, x := withExchange(ctx)
	found, err := c.byID(ctx, id)
	if err != nil {
		return nil, 0, newRefusal(err, x, fmt.Sprintf("the registry knows no schema %s", id))
	}
	if found.Type != sr.TypeAvro {
		return nil, 0, record.Reject(record.NoSchema, "schema %s is of the type %s, and input.format is avro", id, found.Type)
	}
	texts, err := c.references(ctx, found, map[string]bool{})
	if reject := (*record.RejectError)(nil); errors.As(err, &reject) {
		return nil, 0, reject
	}
	if err != nil {
		return nil, 0, newRefusal(err, x, fmt.Sprintf("schema %s names one that the registry does not know", id))
	}
	text = len(found.Schema)
	for _, t := range texts {
		text += len(t)
	}
	if schema, err = avrojson.Parse(found.Schema, texts...); err != nil {
		return nil, 0, record.Reject(record.NoSchema, "schema %s is none that Avro allows: %v", id, err)
	}
	return schema, text, nil
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

// references returns the schemas that a schema names, each behind those that it names itself.
func (c *Client) references(ctx context.Context, of sr.Schema, seen map[string]bool) (texts []string, err error) {
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
		before, err := c.references(ctx, found.Schema, seen)
		if err != nil {
			return nil, err
		}
		texts = append(append(texts, before...), found.Schema.Schema)
	}
	return texts, nil
}

// answersOthers says whether the registry answers sensibly for another id than the one that it has just
// refused. The list of types says less: registries answer it without a look at schemas, to users who may read
// none, too. So it counts only for an answer about the request itself.
func (c *Client) answersOthers(ctx context.Context, id string, refused *refusal) bool {
	if refused.unknown {
		return true
	}
	probe, x := withExchange(ctx)
	_, err := c.byID(probe, c.otherThan(id))
	if err == nil {
		return true
	}
	other := newRefusal(err, x, "")
	if other.unknown {
		return true
	}
	if !refused.aboutRequest() && (!other.aboutRequest() || other.status == refused.status) {
		return false
	}
	types, _ := withExchange(ctx)
	known, err := c.server.SupportedTypes(types)
	return err == nil && len(known) > 0
}

// otherThan returns an id whose schema is known, or one that no registry has given out.
func (c *Client) otherThan(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	unused := strconv.Itoa(math.MaxInt32)
	switch {
	case c.good != "" && c.good != id:
		return c.good
	case unused == id:
		return strconv.Itoa(math.MaxInt32 - 1)
	}
	return unused
}

// Ping asks the registry whether it answers. Any answer that a schema could come with counts.
func (c *Client) Ping(ctx context.Context) error {
	ctx, x := withExchange(ctx)
	_, err := c.server.SupportedTypes(ctx)
	if refused := (*sr.ResponseError)(nil); errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound &&
		!isPage(refused) {
		return nil // some registries do not tell types
	}
	if err != nil {
		return newRefusal(err, x, "").problem
	}
	return nil
}

// isPage says whether a refusal is a page in HTML: the answer of a proxy.
func isPage(refused *sr.ResponseError) bool {
	return strings.HasPrefix(strings.TrimSpace(string(refused.Raw)), "<")
}

// newRefusal explains why a request has brought no schema. detail says what it means that the registry does
// not know what was asked for.
func newRefusal(err error, x *exchange, detail string) *refusal {
	r := &refusal{status: x.status, answer: fmt.Sprintf("with status %d", x.status), detail: detail}
	var refused *sr.ResponseError
	switch {
	case errors.As(err, &refused):
		// The codes of an interface of registries: no subject, no version, no schema. Web servers have others, or none.
		r.unknown = refused.StatusCode == http.StatusNotFound && refused.ErrorCode/100 == http.StatusNotFound
		r.problem = explainStatus(refused)
	case x.status != 0:
		r.answer += " and no schema"
		r.problem = &diag.Problem{
			Cause: "the schema registry gave an answer without a schema", Err: err,
			Remedy: "check input.registry.urls: a login page or a proxy may answer in its place",
		}
	default:
		r.answer = "nothing"
		if r.problem = explained.Explain(err); r.problem == nil {
			r.problem = &diag.Problem{Cause: "the schema registry gave no answer",
				Remedy: "check that it runs, and input.registry.urls", Err: err}
		}
	}
	return r
}

// explained names the registry in explanations.
var explained = diag.Server{
	Name: "the schema registry", Possessive: "the schema registry's", Kind: "schema registry",
	Settings: "input.registry", Addresses: "input.registry.urls",
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
