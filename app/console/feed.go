package console

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
)

const (
	// keptRows is how many of the latest verdicts are kept: pages that open show the last of them, and ids
	// are searched in them. 10,000 take about 5 MB.
	keptRows = 10_000
	// openingRows is how many rows a page shows when it opens.
	openingRows = 50
	// maxTickRows bounds the rows that a page gets at a time. Of more rows it gets a random sample, and their number.
	maxTickRows = 12
	// maxPages bounds the pages that are open at a time.
	maxPages = 16

	// historyStep and historySteps are the width and number of the bars of the charts: the last 15 minutes.
	historyStep  = 10 * time.Second
	historySteps = 90
)

// counts are numbers of verdicts by kind.
type counts map[string]int64

// feed hands the verdicts of the service to the pages that are open.
type feed struct {
	now func() time.Time

	mu      sync.Mutex
	number  int64            // verdicts so far
	kept    []row            // a ring: row n lies at n % keptRows
	byAt    map[string]int64 // number of the last kept row with these coordinates
	history [historySteps]historyBar
	pages   map[*page]struct{}
	closed  bool
}

// historyBar holds the verdicts of one historyStep.
type historyBar struct {
	step   int64 // number of the step since 1970
	counts counts
}

// page is one open page. Its fields belong to the feed's lock.
type page struct {
	filter  filter
	rows    []row // a random sample of the matching rows since the last tick, at most maxTickRows
	matched int64 // rows since the last tick that the filter selects
	counts  counts
	done    chan struct{} // closed when the feed closes
}

func newFeed(now func() time.Time) *feed {
	return &feed{now: now, pages: map[*page]struct{}{}, byAt: map[string]int64{}}
}

// show takes in acknowledged outputs.
func (f *feed) show(outputs []pipeline.Output) {
	now := f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	bar := f.bar(now)
	for i := range outputs {
		r := newRow(&outputs[i], f.number, now)
		if original := f.at(r.Original); original != nil {
			r.OriginalTitle = original.Title
		}
		f.keep(r)
		bar.counts[r.Verdict]++
		for p := range f.pages {
			p.draw(&r)
		}
	}
}

// keep adds a row to those that are kept.
func (f *feed) keep(r row) {
	if len(f.kept) < keptRows {
		f.kept = append(f.kept, r)
	} else {
		old := &f.kept[f.number%keptRows]
		if f.byAt[old.At] == old.Number {
			delete(f.byAt, old.At)
		}
		*old = r
	}
	f.byAt[r.At] = r.Number
	f.number++
}

// at returns the last kept row with the coordinates, or nil.
func (f *feed) at(coordinates string) *row {
	number, found := f.byAt[coordinates]
	if !found {
		return nil
	}
	return &f.kept[number%keptRows]
}

// verdict returns the last verdict that is kept about the record with the coordinates, or nil.
func (f *feed) verdict(coordinates string) *row {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.at(coordinates); r != nil {
		found := *r
		return &found
	}
	return nil
}

// bar returns the bar of the present step.
func (f *feed) bar(now time.Time) *historyBar {
	step := now.UnixNano() / int64(historyStep)
	b := &f.history[step%historySteps]
	if b.step != step {
		*b = historyBar{step: step, counts: counts{}}
	}
	return b
}

// draw adds a row to the page's sample. Every matching row since the last tick has the same chance to be in
// the sample (reservoir sampling, Vitter, "Random Sampling with a Reservoir", ACM TOMS 1985).
func (p *page) draw(r *row) {
	p.counts[r.Verdict]++
	if !p.filter.selects(r) {
		return
	}
	p.matched++
	if len(p.rows) < maxTickRows {
		p.rows = append(p.rows, *r)
	} else if at := rand.Int64N(p.matched); at < maxTickRows { //nolint:gosec // a sample for people needs no secret numbers
		p.rows[at] = *r
	}
}

// opening is what a page shows when it opens: its first event.
type opening struct {
	Version string `json:"version"`
	Recipe  string `json:"recipe"`
	// Reasons explains judgements by verdict and reason, such as "near overlap".
	Reasons   map[string]string `json:"reasons"`
	Relations []string          `json:"relations"` // that a verdict may have
	// Rows are the last rows that the filter selects, oldest first.
	Rows []row `json:"rows"`
	// History are the verdicts of the last steps by kind, oldest first, and Step is their width in seconds.
	History []counts `json:"history"`
	Step    float64  `json:"step"`
}

// open adds a page. It returns nil if too many are open.
func (f *feed) open(filter filter) (*page, opening) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.pages) >= maxPages {
		return nil, opening{}
	}
	p := &page{filter: filter, counts: counts{}, done: make(chan struct{})}
	f.pages[p] = struct{}{}
	o := opening{Step: historyStep.Seconds(), Reasons: reasons, Rows: f.last(openingRows, filter.selects)}
	for _, relation := range article.Relations()[1:] {
		o.Relations = append(o.Relations, relation.String())
	}
	slices.Reverse(o.Rows)
	last := f.now().UnixNano() / int64(historyStep)
	for step := last - historySteps + 1; step <= last; step++ {
		bar := counts{}
		if b := &f.history[step%historySteps]; b.step == step {
			for kind, n := range b.counts {
				bar[kind] = n
			}
		}
		o.History = append(o.History, bar)
	}
	return p, o
}

// last returns the last rows that a condition selects, newest first, at most n.
func (f *feed) last(n int, selects func(*row) bool) []row {
	rows := []row{}
	for number := f.number - 1; number >= max(0, f.number-int64(len(f.kept))) && len(rows) < n; number-- {
		if r := &f.kept[number%keptRows]; selects(r) {
			rows = append(rows, *r)
		}
	}
	return rows
}

// tick is what happened since the last tick.
type tick struct {
	Counts counts `json:"counts"` // all verdicts by kind
	// Matched is the number of verdicts that the filter selects. Rows are all of them or, if there are more
	// than maxTickRows, a sample.
	Matched int64 `json:"matched"`
	Rows    []row `json:"rows"` // oldest first
}

// take returns what happened since the last take.
func (f *feed) take(p *page) tick {
	f.mu.Lock()
	t := tick{Counts: p.counts, Matched: p.matched, Rows: p.rows}
	p.counts, p.matched, p.rows = counts{}, 0, nil
	f.mu.Unlock()
	slices.SortFunc(t.Rows, func(a, b row) int { return int(a.Number - b.Number) })
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
	if f.closed {
		return
	}
	f.closed = true
	for p := range f.pages {
		close(p.done)
	}
}

// find returns the last verdicts on articles with the id, newest first, and how many verdicts were searched.
func (f *feed) find(id string) (found []row, searched int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := strings.ToLower(shortened(id)) // as the rows have it
	return f.last(openingRows, func(r *row) bool { return strings.ToLower(r.ID) == wanted }), len(f.kept)
}
