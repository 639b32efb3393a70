package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"echosieve/app/command"
	"echosieve/app/inquiry"
	"echosieve/app/visible"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/stories"
)

const (
	// keptRows is how many of the latest verdicts are kept: pages that open show the last of them, and ids
	// are searched in them. 10,000 take about 5 MB.
	keptRows = 10_000
	// openingRows is how many rows a page shows when it opens.
	openingRows = 50
	// maxTickRows bounds the rows that a page gets at a time. Of more rows it gets the last, and their number.
	maxTickRows = 12
	// maxPages bounds the pages that are open at a time.
	maxPages = 16

	// historyStep and historySteps are the width and number of the bars of the charts: the last 15 minutes.
	historyStep  = 10 * time.Second
	historySteps = 90

	// tickInterval is the time between two events of a feed. With maxTickRows it bounds what a page shows: 24
	// verdicts a second, which is more than people can read.
	tickInterval = 500 * time.Millisecond
	// eventTimeout bounds the writing of one event. A browser that reads nothing for so long loses its feed,
	// and connects again.
	eventTimeout = 10 * time.Second
)

// counts are numbers of verdicts by kind.
type counts map[string]int64

// row is one verdict of the feed; nobody changes it. Its JSON names are those of console.js.
type row struct {
	Time     int64  `json:"time"` // when the output was acknowledged, in milliseconds since 1970
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason,omitempty"` // that decided, or why the record is a dead letter
	Says     string `json:"says,omitempty"`   // the reason as a sentence
	Distance int    `json:"distance"`         // bits; -1 if there is no original
	// Relation and Similarity are those to the original; empty if there is none.
	Relation   string `json:"relation,omitempty"`
	Similarity string `json:"similarity,omitempty"`
	ID         string `json:"id"`
	Title      string `json:"title,omitempty"`
	Publisher  string `json:"publisher,omitempty"`
	At         string `json:"at"` // coordinates of the input record
	// OriginalID and Original name the article that this one repeats or resembles.
	OriginalID string `json:"original_id,omitempty"`
	Original   string `json:"original,omitempty"`
	// Root names the first article of the story, perhaps this one. A possible copy has the root that it resembles.
	Root string `json:"root,omitempty"`
	// OriginalTitle is empty if the original is not among the verdicts that are kept.
	OriginalTitle string `json:"original_title,omitempty"`
}

// maxRowText is the length in bytes at which titles and publishers in the feed are cut.
const maxRowText = 200

// newRow makes the row of an acknowledged output. It holds no reference to the record, whose value may be large.
func newRow(o *pipeline.Output, now time.Time) *row {
	r := &row{
		Time: now.UnixMilli(), Verdict: o.VerdictName(), Distance: -1, At: o.Record.String(),
		ID: shortened(o.Content.ID), Title: shortened(o.Content.Title), Publisher: shortened(o.Content.Publisher),
	}
	if o.Verdict.Kind == 0 { // a dead letter
		r.Reason = o.Reason
		return r
	}
	if root, found := stories.RootOf(&o.Verdict); found {
		r.Root = root.String()
	}
	if v := &o.Verdict; v.HasOriginal() {
		r.Reason, r.Says, r.Distance = v.Reason.String(), inquiry.Says(v.Kind, v.Reason), v.Distance
		r.Relation, r.Similarity = v.Relation.String(), v.Similarity.String()
		r.OriginalID, r.Original = shortened(v.Original.ID), v.Original.String()
	}
	return r
}

// shortened returns a copy of at most maxRowText bytes.
func shortened(s string) string {
	if len(s) <= maxRowText {
		return strings.Clone(s)
	}
	return article.Cut(s, maxRowText) + "…"
}

// filter selects rows. The zero filter selects all.
type filter struct {
	verdicts    []string // any of them; empty: all
	relation    string   // empty: any
	publisher   string   // part of the publisher, in lower case
	minDistance int      // bits; -1: also rows without an original
	maxDistance int      // of 64 bits
}

// newFilter reads a filter from the parameters of a request. A parameter that cannot be read selects all.
func newFilter(q url.Values) filter {
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(q.Get(name))
		if err != nil {
			return otherwise
		}
		return n
	}
	return filter{
		verdicts: q["verdict"], relation: q.Get("relation"), publisher: strings.ToLower(q.Get("publisher")),
		minDistance: number("min", -1), maxDistance: number("max", 64),
	}
}

func (f *filter) selects(r *row) bool {
	return (len(f.verdicts) == 0 || slices.Contains(f.verdicts, r.Verdict)) &&
		(f.relation == "" || r.Relation == f.relation) &&
		r.Distance >= f.minDistance && r.Distance <= f.maxDistance &&
		(f.publisher == "" || strings.Contains(strings.ToLower(r.Publisher), f.publisher))
}

// feed hands the verdicts of the service to the pages that are open.
type feed struct {
	now func() time.Time

	mu      sync.Mutex
	kept    *simplelru.LRU[string, *row] // by coordinates, in the order in which the verdicts came
	history map[int64]counts             // by the number of the step since 1970
	pages   map[*page]struct{}           // nil: the feed is closed
}

// page is one open page. Its fields belong to the feed's lock.
type page struct {
	filter  filter
	rows    []*row // the last that the filter selects since the last tick, at most maxTickRows
	matched int64  // rows since the last tick that the filter selects
	counts  counts
	done    chan struct{} // closed when the feed closes
}

func newFeed(now func() time.Time) *feed {
	kept, _ := simplelru.NewLRU[string, *row](keptRows, nil) // fails only for sizes below 1
	return &feed{now: now, kept: kept, history: map[int64]counts{}, pages: map[*page]struct{}{}}
}

// show takes in acknowledged outputs.
func (f *feed) show(outputs []pipeline.Output) {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	step := now.UnixNano() / int64(historyStep)
	if f.history[step] == nil {
		maps.DeleteFunc(f.history, func(old int64, _ counts) bool { return old <= step-historySteps })
		f.history[step] = counts{}
	}
	for i := range outputs {
		r := newRow(&outputs[i], now)
		if original, found := f.kept.Peek(r.Original); found {
			r.OriginalTitle = original.Title
		}
		f.kept.Add(r.At, r)
		f.history[step][r.Verdict]++
		for p := range f.pages {
			p.draw(r)
		}
	}
}

// verdict returns the last verdict that is kept about the record with the coordinates, or nil.
func (f *feed) verdict(coordinates string) *row {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, _ := f.kept.Peek(coordinates)
	return r
}

// draw adds a row to those that the page gets with the next tick.
func (p *page) draw(r *row) {
	p.counts[r.Verdict]++
	if !p.filter.selects(r) {
		return
	}
	p.matched++
	p.rows = append(p.rows, r)
	p.rows = p.rows[max(0, len(p.rows)-maxTickRows):]
}

// opening is what a page shows when it opens: its first event.
type opening struct {
	Version   string   `json:"version"`
	Recipe    string   `json:"recipe"`
	Relations []string `json:"relations"` // that a verdict may have
	// Rows are the last rows that the filter selects, oldest first.
	Rows []*row `json:"rows"`
	// History are the verdicts of the last steps by kind, oldest first, and Step is their width in seconds.
	History []counts `json:"history"`
	Step    float64  `json:"step"`
}

// open adds a page. It returns nil if too many are open.
func (f *feed) open(filter filter) (*page, opening) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages == nil || len(f.pages) >= maxPages {
		return nil, opening{}
	}
	p := &page{filter: filter, counts: counts{}, done: make(chan struct{})}
	f.pages[p] = struct{}{}
	o := opening{Step: historyStep.Seconds(), Rows: f.last(openingRows, filter.selects)}
	for _, relation := range article.Relations()[1:] {
		o.Relations = append(o.Relations, relation.String())
	}
	slices.Reverse(o.Rows)
	last := f.now().UnixNano() / int64(historyStep)
	for step := last - historySteps + 1; step <= last; step++ {
		o.History = append(o.History, maps.Clone(f.history[step]))
	}
	return p, o
}

// last returns the last rows that a condition selects, newest first, at most n.
func (f *feed) last(n int, selects func(*row) bool) []*row {
	rows := []*row{}
	for _, r := range slices.Backward(f.kept.Values()) {
		if len(rows) < n && selects(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// tick is what happened since the last tick.
type tick struct {
	Counts counts `json:"counts"` // all verdicts by kind
	// Matched is the number of verdicts that the filter selects. Rows are the last of them, at most maxTickRows.
	Matched int64  `json:"matched"`
	Rows    []*row `json:"rows"` // oldest first
	// Processes are those of the group; Counts are of this one.
	Processes int `json:"processes,omitempty"`
}

// take returns what happened since the last take.
func (f *feed) take(p *page) tick {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := tick{Counts: p.counts, Matched: p.matched, Rows: p.rows}
	p.counts, p.matched, p.rows = counts{}, 0, nil
	return t
}

// leave removes a page.
func (f *feed) leave(p *page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pages, p)
}

// close ends all pages.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.pages {
		close(p.done)
	}
	f.pages = nil
}

// find returns the last verdicts on articles with the id, newest first, and how many verdicts were searched.
func (f *feed) find(id string) (found []*row, searched int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := strings.ToLower(shortened(id)) // as the rows have it
	return f.last(openingRows, func(r *row) bool { return strings.ToLower(r.ID) == wanted }), f.kept.Len()
}

// serveFeed sends a page its feed as server-sent events, until the client goes away: one event "opening",
// then an event "tick" each tickInterval.
func (c *Console) serveFeed(w http.ResponseWriter, r *http.Request) {
	p, first := c.feed.open(newFilter(r.URL.Query()))
	if p == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d pages are open, or the service stops", maxPages), http.StatusServiceUnavailable)
		return
	}
	defer c.feed.leave(p)
	first.Version, first.Recipe = command.ThisBuild().Version, c.recipe
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	// send sends one event (HTML standard, section 9.2). After an error the client is gone.
	send := func(name string, data any) error {
		text, err := json.Marshal(data) // without line ends, which would end the event
		if err != nil {
			return err
		}
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Now().Add(eventTimeout)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, visible.JSON(text)); err != nil {
			return err
		}
		return control.Flush()
	}
	ticks := time.NewTicker(tickInterval)
	defer ticks.Stop()
	next := func() tick {
		t := c.feed.take(p)
		if c.Processes != nil {
			t.Processes = c.Processes()
		}
		return t
	}
	for err := send("opening", first); err == nil; err = send("tick", next()) {
		select {
		case <-ticks.C:
		case <-p.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}
