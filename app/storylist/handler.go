package storylist

import (
	"cmp"
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
	"echosieve/consumer/tools"
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
	serve := func(path string, answer func(w http.ResponseWriter, r *http.Request) (any, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if a, err := answer(w, r); a != nil || err != nil { // else the stream is sent
				l.send(w, a, err, log)
			}
		})
	}
	serve(path, func(w http.ResponseWriter, r *http.Request) (any, error) {
		parameters, streamed := r.URL.Query(), strings.Contains(r.Header.Get("Accept"), "text/event-stream")
		if last := r.Header.Get("Last-Event-ID"); streamed && last != "" {
			parameters.Set("after", last)
		}
		q, err := newQuery(parameters, l.now())
		switch {
		case err != nil:
			return nil, err
		case l.archive == nil && (streamed || q.after != ""):
			return nil, wrong("The stories of a file do not change: ask without after.")
		case streamed:
			return nil, l.stream(w, r, q, log)
		case q.after != "":
			return l.follow(r.Context(), q)
		}
		return l.latest(r.Context(), func(s *shelf) (any, error) { return l.answer(s, q), nil })
	})
	serve(path+feedSuffix, func(_ http.ResponseWriter, r *http.Request) (any, error) {
		q, err := newQuery(r.URL.Query(), l.now())
		if err == nil && (q.after != "" || r.URL.Query().Has("sort")) {
			err = wrong("a feed has the stories that have changed last: leave sort and after out")
		}
		if err != nil {
			return nil, err
		}
		q.sort = "changed"
		return l.latest(r.Context(), func(s *shelf) (any, error) {
			first, _ := s.list(q)
			return l.atom(r, first), nil
		})
	})
	serve(path+"/{root...}", func(_ http.ResponseWriter, r *http.Request) (any, error) {
		if err := onlyParameters(r.URL.Query()); err != nil {
			return nil, err
		}
		return l.latest(r.Context(), func(s *shelf) (any, error) {
			if one := s.find(r.PathValue("root")); one != nil {
				return l.told(one), nil
			}
			return nil, &problem{http.StatusNotFound, fmt.Sprintf("No story has this root, among the %d stories that have "+
				"changed last. A story begins when a first article repeats its root.", s.stories.Len())}
		})
	})
	return mux
}

// answer is what a query selects.
func (l *List) answer(s *shelf, q *query) *Answer {
	a := &Answer{Known: s.stories.Len(), Next: cursor(s.id, s.next), Stories: []stories.Record{}}
	if since := s.since; !since.IsZero() {
		a.CompleteSince = &since
	}
	if all := s.stories.Values(); len(all) > 0 {
		a.LastChange = &all[len(all)-1].changed
	}
	first, matched := s.list(q)
	for _, one := range first {
		a.Stories = append(a.Stories, l.told(one))
	}
	a.Matched, a.Origins = matched, stories.Origins(a.Stories)
	return a
}

// problem is the reason why there is no answer, in words for people.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

// wrong is what is wrong with a request.
func wrong(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// unavailable is why a request comes too early.
func unavailable(format string, args ...any) error {
	return &problem{http.StatusServiceUnavailable, fmt.Sprintf(format, args...)}
}

var errBusy = unavailable("Other requests for stories are under way. Ask again.")

// send sends an answer, as Atom or as JSON, or says why there is none.
func (l *List) send(w http.ResponseWriter, a any, err error, log *slog.Logger) {
	if tools.IsMissing(err) {
		err = unavailable("There is no topic %s that this user may read: it begins with the first start of "+
			"\"echosieve stories\".", l.topic)
	}
	var told *problem
	if err != nil && !errors.As(err, &told) {
		log.Warn("a request for stories was not answered", "err", err)
		told = &problem{http.StatusServiceUnavailable, "The topic of stories cannot be read now. The log says why."}
	}
	if told != nil {
		if told.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		http.Error(w, told.text, told.status)
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

// onlyParameters returns an error that names a parameter which the request does not take.
func onlyParameters(p url.Values, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if slices.Contains(known, name) {
			continue
		}
		if len(known) == 0 {
			return wrong("%q is no parameter: this path takes none", name)
		}
		return wrong("%q is no parameter: there are %s", name, strings.Join(known, ", "))
	}
	return nil
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
	q := &query{sort: cmp.Or(p.Get("sort"), "copies"), limit: usualLimit, title: strings.ToLower(p.Get("title")),
		label: p.Get("label"), publisher: strings.ToLower(p.Get("publisher")), script: p.Get("script"), after: p.Get("after")}
	var names []string
	for s := range article.Scripts {
		names = append(names, s.String())
	}
	lang := p.Get("lang")
	own, alone := ownScripts[lang]
	_, _, noCursor := parseCursor(q.after)
	switch {
	case q.label != "" && !slices.Contains(stories.Labels, q.label):
		return nil, wrong("label is one of %s", strings.Join(stories.Labels, ", "))
	case q.after != "" && noCursor != nil:
		return nil, noCursor
	case q.after != "" && p.Has("sort"):
		return nil, wrong("with after, stories come in the order in which they have changed: leave sort out")
	case orders[q.sort] == nil:
		return nil, wrong("sort is one of %s", strings.Join(slices.Sorted(maps.Keys(orders)), ", "))
	case q.script != "" && !slices.Contains(names, q.script):
		return nil, wrong("script is one of %s: that of the title of the root", strings.Join(names, ", "))
	case lang != "" && (!alone || q.script != "" && q.script != own.String()):
		return nil, wrong("lang is one of %s: other languages share a script, which script selects",
			strings.Join(slices.Sorted(maps.Keys(ownScripts)), ", "))
	case alone:
		q.script = own.String()
	}
	if since := p.Get("since"); since != "" {
		age, err := time.ParseDuration(since)
		if err != nil || age <= 0 {
			return nil, wrong("since is a time such as 90m or 24h: the age of the last article, at most")
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
				return nil, wrong("%s is a number from 1 to %d", n.name, n.most)
			}
		}
	}
	return q, nil
}
