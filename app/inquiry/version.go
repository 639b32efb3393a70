package inquiry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"golang.org/x/sync/semaphore"

	"echosieve/app/config"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/recipe"
)

// ChangesPath is the path below which Versions answers, under the coordinates of a record of an output topic or of an
// input topic.
const ChangesPath = "/v1/changes/"

// Version is an article beside the original of its verdict. Its JSON names must not change.
type Version struct {
	Verdict  string           `json:"verdict"` // possible, near or exact
	Reason   string           `json:"reason"`
	Says     string           `json:"says"` // the reason in words, with its figures if both texts are known
	Article  Article          `json:"article"`
	Original Article          `json:"original"`
	Changes  *changes.Changes `json:"changes,omitempty"` // what is new in the article
	Why      string           `json:"why,omitempty"`     // there are no changes
}

// Versions answers what is new in an article. It reads both texts from Kafka. Safe for concurrent use.
type Versions struct {
	judge   *Judge
	reader  *Reader
	working *semaphore.Weighted
}

// mostNamed bounds titles and addresses in an answer, in bytes.
const mostNamed = 2000

// mostCompared bounds the pairs that are read and compared at a time: they cannot take the cores of the service.
const mostCompared = 2

// NewVersions returns the Versions of a service with its recipe. It does not dial. The caller closes it.
func NewVersions(cfg config.Config, made *recipe.Recipe) *Versions {
	v := &Versions{NewJudge(cfg, made), NewReader(cfg, io.Discard), semaphore.NewWeighted(mostCompared)}
	v.reader.OnlyConfigured = true
	return v
}

// Close closes the connections.
func (v *Versions) Close() { v.reader.Close() }

// Handler serves ChangesPath.
func (v *Versions) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ChangesPath+"{at...}", handle("Kafka cannot be read now.", log,
		func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return v.version(r.Context(), r.PathValue("at"))
		}))
	return mux
}

// version answers for a record. The error is a *refusal, or says why Kafka cannot be read.
func (v *Versions) version(ctx context.Context, name string) (*Version, error) {
	at, err := article.ParseCoordinates(name)
	if err != nil {
		return nil, wrong("%v", err)
	}
	if v.working.Acquire(ctx, 1) != nil {
		return nil, errBusy
	}
	defer v.working.Release(1)
	own, err := v.reader.Article(ctx, article.Ref{Coordinates: at})
	o := own.Output
	if o == nil && err == nil {
		o, err = v.reader.Verdict(ctx, at, own.Time)
	}
	switch {
	case o != nil:
	case errors.Is(err, tools.ErrNoRecord), errors.Is(err, ErrNoVerdict), errors.Is(err, errForeign),
		tools.IsMissing(err): // or the topic has no such partition
		return nil, &refusal{http.StatusNotFound, err.Error()}
	default:
		return nil, err
	}
	verdict := o.Verdict
	if !verdict.HasOriginal() {
		return nil, &refusal{http.StatusNotFound, name + " repeats no article: there is nothing to compare it with."}
	}
	original, err := v.reader.Article(ctx, verdict.Original)
	if err != nil && !errors.Is(err, tools.ErrNoRecord) {
		return nil, err
	}
	answer := v.judge.Version(&original, &own, &verdict)
	for _, a := range []*Article{&answer.Article, &answer.Original} { // a title may hold a whole text
		a.Title, a.URL = article.Cut(a.Title, mostNamed), article.Cut(a.URL, mostNamed)
	}
	return answer, nil
}

// Version compares an article with the original of its verdict, as far as their texts are known.
func (t *Judge) Version(original, own *Article, v *article.Verdict) *Version {
	out := &Version{Verdict: v.Kind.String(), Reason: v.Reason.String(), Says: Says(v.Kind, v.Reason)}
	switch {
	case original.Gone != "":
		out.Why = changes.OriginalGone
	case own.Gone != "":
		out.Why = changes.ArticleGone
	default:
		t.Fingerprint(original)
		t.Fingerprint(own)
		c := t.Compare(original, own, true)
		if c.Kind == out.Verdict {
			out.Says = c.Explanation
		}
		out.Changes = WhatIsNew(original, own)
	}
	out.Article, out.Original = *own, *original
	return out
}
