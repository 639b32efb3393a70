package storylist

import (
	"context"
	"encoding/xml"
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
	"echosieve/pipeline/article"
	"echosieve/stories"
)

// Path is that of the list. A story is below it, under the coordinates or the id of its root.
const Path = "/v1/stories"

// feedSuffix makes of the path of the list that of its Atom feed.
const feedSuffix = ".atom"

// FeedPath is the path of the Atom feed.
const FeedPath = Path + feedSuffix

const (
	usualLimit = 50
	mostLimit  = 200
	// mostPublishers bounds the parameter of this name.
	mostPublishers = 1_000_000
	// timeout bounds a request. If Kafka does not answer by then, or more is to be read, the answer is 503.
	timeout = 10 * time.Second
)

// Answer is the answer to a request for stories. Its JSON names must not change.
type Answer struct {
	Stories []stories.Record `json:"stories"`
	Matched int              `json:"matched"` // stories that the request selects, of which Stories are the first
	Known   int              `json:"known"`   // stories that were searched
	Origins int              `json:"origins"` // number of different origins of Stories
	// CompleteSince is missing if all stories in the topic were searched. Otherwise it was those that changed later.
	CompleteSince *time.Time `json:"complete_since,omitempty"`
	Next          string     `json:"next"` // the cursor of what changes from now on
	// LastChange is when a story changed last; missing if none is known. Long ago: does `echosieve stories` run?
	LastChange *time.Time `json:"last_change,omitempty"`
}

// Handler serves the list below a path, and each story below that path with a slash.
func (l *List) Handler(path string, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		parameters, streamed := r.URL.Query(), strings.Contains(r.Header.Get("Accept"), "text/event-stream")
		if last := r.Header.Get("Last-Event-ID"); streamed && last != "" {
			parameters.Set("after", last)
		}
		q, err := newQuery(parameters, l.now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch {
		case l.archive == nil && (streamed || q.after != ""):
			http.Error(w, "The stories of a file do not change: ask without after.", http.StatusBadRequest)
		case streamed:
			l.serveStream(w, r, q, log)
		case q.after != "":
			l.serveFollow(w, r, q, log)
		default:
			l.serve(w, r, log, func() any { return l.answer(q) })
		}
	})
	mux.HandleFunc("GET "+path+feedSuffix, func(w http.ResponseWriter, r *http.Request) {
		q, err := newQuery(r.URL.Query(), l.now())
		if err == nil && (q.after != "" || r.URL.Query().Has("sort")) {
			err = errors.New("a feed has the stories that have changed last: leave sort and after out")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q.sort = "changed"
		l.serve(w, r, log, func() any {
			first, _ := l.list(q)
			return l.atom(r, first)
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

// answer is what a query selects.
func (l *List) answer(q *query) *Answer {
	a := &Answer{Known: l.stories.Len(), Next: cursor(l.id, l.next), Stories: []stories.Record{}}
	if since := l.since; !since.IsZero() {
		a.CompleteSince = &since
	}
	if all := l.stories.Values(); len(all) > 0 {
		a.LastChange = &all[len(all)-1].changed
	}
	first, matched := l.list(q)
	for _, one := range first {
		a.Stories = append(a.Stories, l.told(one))
	}
	a.Matched, a.Origins = matched, stories.Origins(a.Stories)
	return a
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
	if err == nil && a == nil {
		http.Error(w, fmt.Sprintf("No story has this root, among the %d stories that have changed last. "+
			"A story begins when a first article repeats its root.", known), http.StatusNotFound)
		return
	}
	send(w, a, err, log)
}

// send sends an answer, as Atom or as JSON, or says why there is none.
func send(w http.ResponseWriter, a any, err error, log *slog.Logger) {
	var told *problem
	if errors.As(err, &told) {
		unavailable(w, told.text)
		return
	}
	if err != nil {
		log.Warn("a request for stories was not answered", "err", err)
		unavailable(w, "The topic of stories cannot be read now. The log says why.")
		return
	}
	f, isFeed := a.(*feed)
	if !isFeed {
		visible.Answer(w, http.StatusOK, a, log)
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	out, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		log.Error("a feed was not written", "err", err)
	}
	_, _ = w.Write(append([]byte(xml.Header), out...)) // a client that is gone misses nothing
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

// scripts are the names of scripts.
func scripts() (names []string) {
	for s := range article.Scripts {
		names = append(names, s.String())
	}
	return names
}

// ownScripts are the scripts of languages that share theirs with no other one. Titles tell no language else.
var ownScripts = map[string]article.Script{"zh": article.Han, "ja": article.Kana, "ko": article.Hangul,
	"el": article.Greek, "he": article.Hebrew, "th": article.Thai}

// newQuery reads the parameters of a request. The error names the first one that cannot be read.
func newQuery(p url.Values, now time.Time) (*query, error) {
	if err := onlyParameters(p, "sort", "since", "title", "publisher", "publishers", "script", "lang", "label",
		"limit", "after"); err != nil {
		return nil, err
	}
	q := &query{sort: "copies", limit: usualLimit, title: strings.ToLower(p.Get("title")), label: p.Get("label"),
		publisher: strings.ToLower(p.Get("publisher")), script: p.Get("script"), after: p.Get("after")}
	if q.label != "" && !slices.Contains(stories.Labels, q.label) {
		return nil, fmt.Errorf("label is one of %s", strings.Join(stories.Labels, ", "))
	}
	if _, _, err := parseCursor(q.after); err != nil && q.after != "" {
		return nil, err
	}
	if q.after != "" && p.Has("sort") {
		return nil, errors.New("with after, stories come in the order in which they have changed: leave sort out")
	}
	if sort := p.Get("sort"); sort != "" {
		if q.sort = sort; orders[sort] == nil {
			return nil, fmt.Errorf("sort is one of %s", strings.Join(slices.Sorted(maps.Keys(orders)), ", "))
		}
	}
	if names := scripts(); q.script != "" && !slices.Contains(names, q.script) {
		return nil, fmt.Errorf("script is one of %s: that of the title of the root", strings.Join(names, ", "))
	}
	if lang := p.Get("lang"); lang != "" {
		script, own := ownScripts[lang]
		if !own || q.script != "" && q.script != script.String() {
			return nil, fmt.Errorf("lang is one of %s: other languages share a script, which script selects",
				strings.Join(slices.Sorted(maps.Keys(ownScripts)), ", "))
		}
		q.script = script.String()
	}
	if since := p.Get("since"); since != "" {
		age, err := time.ParseDuration(since)
		if err != nil || age <= 0 {
			return nil, errors.New("since is a time such as 90m or 24h: the age of the last article, at most")
		}
		q.since = now.Add(-age)
	}
	for _, n := range []struct {
		name string
		to   *int
		most int
	}{{"limit", &q.limit, mostLimit}, {"publishers", &q.publishers, mostPublishers}} {
		if value := p.Get(n.name); value != "" {
			var err error
			if *n.to, err = strconv.Atoi(value); err != nil || *n.to < 1 || *n.to > n.most {
				return nil, fmt.Errorf("%s is a number from 1 to %d", n.name, n.most)
			}
		}
	}
	return q, nil
}
