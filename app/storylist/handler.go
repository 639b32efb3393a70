package storylist

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/app/visible"
	"echosieve/stories"
)

// Path is that of the list. A story is below it, under the coordinates or the id of its root.
const Path = "/v1/stories"

const (
	usualLimit = 50
	mostLimit  = 200
	// timeout bounds a request. If Kafka does not answer by then, or more is to be read, the answer is 503.
	timeout = 10 * time.Second
)

// Answer is the answer to a request for stories. Its JSON names must not change.
type Answer struct {
	Stories []stories.Record `json:"stories"`
	Matched int              `json:"matched"` // stories that the request selects, of which Stories are the first
	Known   int              `json:"known"`   // stories that were searched
	// CompleteSince is missing if all stories in the topic were searched. Otherwise it was those that changed later.
	CompleteSince *time.Time `json:"complete_since,omitempty"`
	// LastChange is when a story changed last; missing if none is known. Long ago: does `echosieve stories` run?
	LastChange *time.Time `json:"last_change,omitempty"`
}

// Handler serves the list below a path, and each story below that path with a slash.
func (l *List) Handler(path string, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		q, err := newQuery(r.URL.Query(), l.now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l.serve(w, r, log, func() any {
			a := Answer{Known: l.stories.Len()}
			if since := l.since; !since.IsZero() {
				a.CompleteSince = &since
			}
			if all := l.stories.Values(); len(all) > 0 {
				a.LastChange = &all[len(all)-1].changed
			}
			a.Stories, a.Matched = l.list(q)
			return a
		})
	})
	mux.HandleFunc("GET "+path+"/{root...}", func(w http.ResponseWriter, r *http.Request) {
		if err := onlyParameters(r.URL.Query()); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l.serve(w, r, log, func() any {
			if one := l.find(r.PathValue("root")); one != nil {
				return l.told(one)
			}
			return nil
		})
	})
	return mux
}

// serve reads what is new and sends the answer as JSON, or 404 if it is nil. One request after the other does so.
func (l *List) serve(w http.ResponseWriter, r *http.Request, log *slog.Logger, answer func() any) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if l.turn.Acquire(ctx, 1) != nil {
		unavailable(w, "Other requests for stories are under way. Ask again.")
		return
	}
	err := l.read(ctx)
	var a any
	known := l.stories.Len()
	if err == nil {
		a = answer()
	}
	l.turn.Release(1)
	var told *problem
	switch {
	case errors.As(err, &told):
		unavailable(w, told.text)
	case err != nil:
		log.Warn("a request for stories was not answered", "err", err)
		unavailable(w, "The topic of stories cannot be read now. The log says why.")
	case a == nil:
		http.Error(w, fmt.Sprintf("No story has this root, among the %d stories that have changed last. "+
			"A story begins when a first article repeats its root.", known), http.StatusNotFound)
	default:
		visible.Answer(w, http.StatusOK, a, log)
	}
}

func unavailable(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, text, http.StatusServiceUnavailable)
}

// onlyParameters returns an error that names a parameter which the request does not take.
func onlyParameters(p url.Values, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if slices.Contains(known, name) {
			continue
		}
		if len(known) == 0 {
			return fmt.Errorf("%q is no parameter: this path takes none", name)
		}
		return fmt.Errorf("%q is no parameter: there are %s", name, strings.Join(known, ", "))
	}
	return nil
}

// newQuery reads the parameters of a request. The error names the first one that cannot be read.
func newQuery(p url.Values, now time.Time) (*query, error) {
	if err := onlyParameters(p, "sort", "since", "title", "publisher", "limit"); err != nil {
		return nil, err
	}
	q := &query{sort: "copies", limit: usualLimit, title: strings.ToLower(p.Get("title")),
		publisher: strings.ToLower(p.Get("publisher"))}
	if sort := p.Get("sort"); sort != "" {
		if q.sort = sort; orders[sort] == nil {
			return nil, fmt.Errorf("sort is one of %s", strings.Join(slices.Sorted(maps.Keys(orders)), ", "))
		}
	}
	if since := p.Get("since"); since != "" {
		age, err := time.ParseDuration(since)
		if err != nil || age <= 0 {
			return nil, errors.New("since is a time such as 90m or 24h: the age of the last article, at most")
		}
		q.since = now.Add(-age)
	}
	if limit := p.Get("limit"); limit != "" {
		var err error
		if q.limit, err = strconv.Atoi(limit); err != nil || q.limit < 1 || q.limit > mostLimit {
			return nil, fmt.Errorf("limit is a number from 1 to %d", mostLimit)
		}
	}
	return q, nil
}
