// Package memindex keeps the article index in memory: for reference runs and benchmarks, and as the plainest
// statement of what an index answers. Nothing survives the process.
package memindex

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"echosieve/pipeline"
	"echosieve/simhash"
)

// Config says what the index remembers. All fields count in the same way as in package redisindex.
type Config struct {
	Window      time.Duration
	Generations int // pieces of the window, by which exact repeats are found and memory is freed
	pipeline.Search
}

// Index is an in-memory pipeline.Index. An article's place in the order of arrival is its ticket. Safe for
// concurrent use.
type Index struct {
	cfg          Config
	windowMs     int64
	generationMs int64

	mu          sync.Mutex
	arrivals    int // articles stored so far
	stored      int // articles kept
	sweepAt     int // stored articles at which to forget
	lastSweep   int // arrivals at the last sweep
	generations map[int64]*generation
}

var _ pipeline.Index = (*Index)(nil)

// minSweep is the number of articles below which nothing is forgotten.
const minSweep = 1 << 16

type generation struct {
	lastArrival int
	byDigest    map[pipeline.Digest]*article
	byPrint     map[simhash.Fingerprint][]*article // in order of arrival
	blocks      map[simhash.Block][]simhash.Fingerprint
}

type article struct {
	pipeline.Traits
	arrival int
	ms      int64
	ref     pipeline.Ref
	match   pipeline.Match
}

// New returns an empty index. Window must be at least a second and Generations at least 1.
func New(cfg Config) *Index {
	seconds := (int64(cfg.Window/time.Second) + int64(cfg.Generations) - 1) / int64(cfg.Generations)
	return &Index{
		cfg: cfg, windowMs: cfg.Window.Milliseconds(), generationMs: seconds * 1000,
		sweepAt: minSweep, generations: map[int64]*generation{},
	}
}

// Claim implements pipeline.Index. It fails only if ctx has ended.
func (x *Index) Claim(ctx context.Context, claims []pipeline.Claim) ([]pipeline.Match, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	matches := make([]pipeline.Match, len(claims))
	for i := range claims {
		matches[i] = x.claim(&claims[i])
	}
	return matches, nil
}

func (x *Index) claim(c *pipeline.Claim) pipeline.Match {
	ms := max(0, c.Time.UnixMilli())
	g := x.generation(ms / x.generationMs)
	if o := g.byDigest[c.Digest]; o != nil {
		if o.ref.Coordinates == c.Coordinates {
			return o.match
		}
		return pipeline.Match{Kind: pipeline.Exact, Test: pipeline.TestDigest, Original: o.ref, Root: o.match.Root}
	}
	a := &article{
		Traits: c.Traits(), arrival: x.arrivals, ms: ms, ref: pipeline.Ref{ID: c.ID, Coordinates: c.Coordinates},
	}
	a.match = x.match(a, c)
	x.store(g, a, c.Anchors)
	return a.match
}

func (x *Index) generation(n int64) *generation {
	g := x.generations[n]
	if g == nil {
		g = &generation{
			byDigest: map[pipeline.Digest]*article{}, byPrint: map[simhash.Fingerprint][]*article{}, blocks: map[simhash.Block][]simhash.Fingerprint{},
		}
		x.generations[n] = g
	}
	return g
}

// match finds the earliest article that a repeats, or else the earliest that it looks like.
func (x *Index) match(a *article, c *pipeline.Claim) pipeline.Match {
	var copied, similar found
	seen := map[*article]bool{}
	for n := max(0, a.ms-x.windowMs) / x.generationMs; n <= saturate(a.ms, x.windowMs)/x.generationMs; n++ {
		g := x.generations[n]
		if g == nil {
			continue
		}
		for fp := range x.near(g, c) {
			for _, o := range g.byPrint[fp] {
				if seen[o] {
					continue
				}
				seen[o] = true
				switch j := x.judge(a, o); {
				case j.Kind.IsCopy():
					copied.offer(o, j)
				case j.Kind == pipeline.Possible:
					similar.offer(o, j)
				}
			}
		}
	}
	best := copied
	if best.article == nil {
		best = similar
	}
	m := pipeline.Match{Kind: pipeline.Unique, Root: a.ref}
	if o := best.article; o != nil {
		m.Kind, m.Test, m.Original = best.Kind, best.Test, o.ref
		if m.Kind.IsCopy() {
			m.Root = o.match.Root
		}
		if m.Kind != pipeline.Exact {
			m.Distance = simhash.Distance(a.Fingerprint, o.Fingerprint)
		}
	}
	return m
}

// found is the earliest article offered.
type found struct {
	*article
	pipeline.Judgement
}

func (f *found) offer(o *article, j pipeline.Judgement) {
	if f.article == nil || o.arrival < f.arrival {
		f.article, f.Judgement = o, j
	}
}

// near iterates over the fingerprints of a generation within the maximal distance of an article's, some repeatedly.
func (x *Index) near(g *generation, c *pipeline.Claim) iter.Seq[simhash.Fingerprint] {
	return func(yield func(simhash.Fingerprint) bool) {
		if c.LittleText {
			yield(c.Fingerprint)
			return
		}
		for _, block := range x.cfg.AppendLooks(nil, c.Fingerprint, c.Sums, c.Anchors) {
			for _, fp := range g.blocks[block] {
				if simhash.Distance(c.Fingerprint, fp) <= x.cfg.MaxDistance && !yield(fp) {
					return
				}
			}
		}
	}
}

// judge says what a is to the earlier article o.
func (x *Index) judge(a, o *article) pipeline.Judgement {
	if a.ref.Coordinates == o.ref.Coordinates || max(a.ms, o.ms)-min(a.ms, o.ms) > x.windowMs {
		return pipeline.Judgement{}
	}
	return x.cfg.Decide(a.Traits, o.Traits)
}

func (x *Index) store(g *generation, a *article, anchors []uint64) {
	if x.stored >= x.sweepAt {
		x.sweep(a.ms)
	}
	if !a.LittleText {
		known := slices.ContainsFunc(g.byPrint[a.Fingerprint], func(o *article) bool { return !o.LittleText })
		for _, block := range x.cfg.AppendPlaces(nil, a.Fingerprint, anchors) {
			if !known || !slices.Contains(g.blocks[block], a.Fingerprint) {
				g.blocks[block] = append(g.blocks[block], a.Fingerprint)
			}
		}
	}
	g.byDigest[a.Digest] = a
	g.byPrint[a.Fingerprint] = append(g.byPrint[a.Fingerprint], a)
	g.lastArrival = x.arrivals
	x.arrivals++
	x.stored++
}

// sweep forgets the generations that are both out of the window around now and out of use since the last sweep,
// so that one article from a wrong clock does not make the index forget all others.
func (x *Index) sweep(now int64) {
	for n, g := range x.generations {
		far := (n+1)*x.generationMs < now-x.windowMs || n*x.generationMs > saturate(now, x.windowMs)
		if far && g.lastArrival < x.lastSweep {
			x.stored -= len(g.byDigest)
			delete(x.generations, n)
		}
	}
	x.lastSweep = x.arrivals
	x.sweepAt = max(minSweep, x.stored+x.stored/4)
}

// saturate adds two numbers that are not negative and stays at the largest one instead of overflowing.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}
