// Package memindex keeps the article index in the memory of one process, and on request in a folder, too. It
// gives the verdicts that package redisindex gives to the same articles in the same order, claimed one by
// one. The command filter uses it, reference runs and tests.
//
// The window is cut into slices. A slice (slice.go) holds its articles as packed bytes (entry.go), a map
// that leads from a fingerprint to them, and the block lists. Nothing in it is a pointer to an article, so
// ten million articles cost the garbage collector nothing. A slice is forgotten as a whole. A folder
// (state.go) holds what was claimed, in its order.
package memindex

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Config says which articles the index remembers and how it finds them. All fields mean the same as in
// package redisindex.
type Config struct {
	Window time.Duration
	// number of slices in the window: exact repeats are found within a slice, and memory is freed by slice
	Slices int
	article.Search
	article.Policy
	BlockBits     int // width of the blocks of a fingerprint; 0: as wide as makes up the fingerprint
	MaxCandidates int // most fingerprints that are compared with an article, the nearest first; 0: all
}

// Index is a pipeline.Index in memory. An article's number in the order of arrival is its ticket. Safe for
// concurrent use.
type Index struct {
	cfg  Config
	plan lookup.Plan

	mu sync.Mutex
	window
	topics topics
	state  *state // nil: the articles are lost when the process ends

	near   *lookup.Nearest
	blocks []simhash.Block // scratch, as is record
	record []byte
}

var _ pipeline.Index = (*Index)(nil)

// New returns an empty index. Window must be at least a second and Slices at least 1.
func New(cfg Config) *Index {
	x := &Index{
		cfg: cfg, plan: lookup.New(cfg.Search, cfg.BlockBits), window: newWindow(cfg.Window, cfg.Slices),
		topics: topics{numbers: map[string]uint64{}},
	}
	x.near = lookup.NewNearest(&x.plan, cmp.Or(cfg.MaxCandidates, math.MaxInt))
	return x
}

// Claim implements pipeline.Index. It fails only if ctx has ended.
func (x *Index) Claim(ctx context.Context, articles []article.Article) ([]article.Verdict, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	verdicts := make([]article.Verdict, len(articles))
	for i := range articles {
		verdicts[i] = x.claim(&articles[i])
	}
	return verdicts, nil
}

// claim returns the verdict of one article and stores the article. An exact repeat within its original's
// slice is not stored: when it is claimed again, it finds the original's entry by digest and gets the same
// verdict.
func (x *Index) claim(a *article.Article) article.Verdict {
	n, rest := x.sliceOf(a)
	s := x.slice(n)
	x.list(s, a)
	o, overflow := x.find(s, a)
	if o != nil {
		o.decodeID()
		v := o.decodeVerdict()
		if o.Coordinates != a.Coordinates {
			v = article.ExactVerdict(o.Ref(), v.Root)
		}
		return v
	}
	v := x.decide(a, max(0, n)*x.sliceMs+rest)
	e := entry{Article: *a, ticket: x.arrivals, ms: rest, overflow: overflow}
	topic, known := x.topics.number(a.Topic)
	if x.state != nil && !known {
		x.state.item('t', []byte(a.Topic))
	}
	x.record = e.append(x.record[:0], topic, v)
	x.keep(s, x.record)
	if x.state != nil {
		x.state.entry(s.number, a.Anchors, x.record)
	}
	return v
}

// list adds the article's fingerprint to its block lists, unless they hold it. A full list loses its oldest
// fingerprint.
func (x *Index) list(s *slice, a *article.Article) {
	if a.LittleText {
		return
	}
	known := s.latest[a.Fingerprint] != 0
	x.blocks = x.plan.AppendStored(x.blocks[:0], a)
	for _, b := range x.blocks {
		s.list(b, a.Fingerprint, known)
	}
}

// find returns the article's own entry in a slice or, without one, the entry with its digest; nil if there is
// none. A hidden entry is found by its own article only. overflow says that no further entry with the
// fingerprint may be found as an original.
func (x *Index) find(s *slice, a *article.Article) (found *entry, overflow bool) {
	n := 0
	for _, ref := range []uint32{s.latest[a.Fingerprint], s.overflown[exactly{a.Fingerprint, a.Digest}]} {
		for r := range s.entries(ref) {
			n++
			if r.digest() != a.Digest {
				continue
			}
			e, _ := x.topics.decode(r)
			if e.Coordinates == a.Coordinates {
				return &e, false
			}
			if !e.hidden {
				found = &e
			}
		}
		if n < lookup.MaxEntries {
			return found, false
		}
	}
	return found, true
}

// Retract implements pipeline.Index. It fails only if ctx has ended. An index in a folder forgets it at the
// end of the process.
func (x *Index) Retract(ctx context.Context, a *article.Article) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	n, _ := x.sliceOf(a)
	if s := x.slices[n]; s != nil {
		if e, _ := x.find(s, a); e != nil && e.Coordinates == a.Coordinates {
			e.hide()
		}
	}
	return nil
}

// decide finds the article of which a is a copy or, without one, the article of which a is possibly a copy:
// of several the earliest one with the same id or, without one, the earliest one.
func (x *Index) decide(a *article.Article, ms int64) article.Verdict {
	var copied, similar earliest
	for _, c := range x.candidates(a, ms) {
		s := x.slices[c.Slice]
		for raw := range s.entries(s.latest[c.Fingerprint]) {
			o, _ := x.topics.decode(raw)
			at := o.ms + s.number*x.sliceMs
			undated := s.number < 0 || !a.Undated.IsZero()
			if o.hidden || o.Coordinates == a.Coordinates || !undated && max(at, ms)-min(at, ms) > x.windowMs {
				continue
			}
			if o.Time = time.UnixMilli(at); undated {
				o.Time = a.Time // nobody knows how far apart they are
			}
			o.decodeID()
			switch j := x.cfg.Compare(a, &o.Article); {
			case j.Kind.IsCopy() && o.decodeVerdict().Root.Coordinates != a.Coordinates:
				copied.offer(o, j)
			case j.Kind == article.Possible:
				similar.offer(o, j)
			}
		}
	}
	best := copied
	if best.Kind == 0 {
		best = similar
	}
	v := article.Verdict{Kind: article.Unique, Root: a.Ref()}
	if best.Kind != 0 {
		v.Kind, v.Reason, v.Likeness, v.Original = best.Kind, best.Reason, best.Likeness, best.Ref()
		v.Destination = x.cfg.Destination(best.Judgement)
		if v.Kind.IsCopy() {
			v.Root = best.decodeVerdict().Root
		}
		if v.Kind != article.Exact {
			v.Distance = simhash.Distance(a.Fingerprint, best.Fingerprint)
		}
	}
	return v
}

// candidates returns the fingerprints whose entries are compared with an article, in the slices that can hold
// an original.
func (x *Index) candidates(a *article.Article, ms int64) (little []lookup.Candidate) {
	x.near.Reset()
	x.blocks = x.blocks[:0]
	if !a.LittleText {
		x.blocks = x.plan.AppendLookups(x.blocks, a)
	}
	for _, n := range x.within(a, ms) {
		s := x.slices[n]
		if s == nil {
			continue
		}
		if a.LittleText {
			little = append(little, lookup.Candidate{Slice: n, Fingerprint: a.Fingerprint})
		}
		for _, b := range x.blocks {
			x.near.Offer(n, b.Index, s.lists[key(b)], a.Fingerprint)
		}
	}
	return append(little, x.near.Take()...)
}

// earliest keeps, of the articles that it is offered, the earliest with the same id or, without one, the earliest.
type earliest struct {
	entry
	article.Judgement
}

func (f *earliest) offer(o entry, j article.Judgement) {
	if f.Kind == 0 || j.SameID && !f.SameID || j.SameID == f.SameID && o.ticket < f.ticket {
		f.entry, f.Judgement = o, j
	}
}

// Bytes is about the memory that the articles take.
func (x *Index) Bytes() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bytes()
}
