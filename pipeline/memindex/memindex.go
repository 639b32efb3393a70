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
	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Config says what the index remembers. All fields count in the same way as in package redisindex.
type Config struct {
	Window      time.Duration
	Generations int // pieces of the window, by which exact repeats are found and memory is freed
	article.Search
	BlockBits int // width of the blocks of a fingerprint; 0: as wide as makes up the fingerprint
}

// Index is an in-memory pipeline.Index. An article's place in the order of arrival is its ticket. Safe for
// concurrent use.
type Index struct {
	cfg          Config
	plan         lookup.Plan
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
	byDigest    map[article.Digest]*entry
	byPrint     map[simhash.Fingerprint][]*entry // in order of arrival
	blocks      map[simhash.Block][]simhash.Fingerprint
}

// entry is what the index keeps of an article: not its sums and anchors, which serve the look-up only.
type entry struct {
	article.Article
	arrival int
	ms      int64
	verdict article.Verdict
}

// New returns an empty index. Window must be at least a second and Generations at least 1.
func New(cfg Config) *Index {
	seconds := (int64(cfg.Window/time.Second) + int64(cfg.Generations) - 1) / int64(cfg.Generations)
	return &Index{
		cfg: cfg, plan: lookup.New(cfg.Search, cfg.BlockBits), windowMs: cfg.Window.Milliseconds(), generationMs: seconds * 1000,
		sweepAt: minSweep, generations: map[int64]*generation{},
	}
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

func (x *Index) claim(c *article.Article) article.Verdict {
	ms := max(0, c.Time.UnixMilli())
	g := x.generation(ms / x.generationMs)
	if o := g.byDigest[c.Digest]; o != nil {
		if o.Coordinates == c.Coordinates {
			return o.verdict
		}
		return article.Verdict{Kind: article.Exact, Reason: article.ReasonDigest, Original: o.Ref(), Root: o.verdict.Root}
	}
	e := &entry{Article: *c, arrival: x.arrivals, ms: ms}
	e.verdict = x.decide(e)
	x.store(g, e)
	e.Sums, e.Anchors = nil, nil
	return e.verdict
}

func (x *Index) generation(n int64) *generation {
	g := x.generations[n]
	if g == nil {
		g = &generation{
			byDigest: map[article.Digest]*entry{}, byPrint: map[simhash.Fingerprint][]*entry{}, blocks: map[simhash.Block][]simhash.Fingerprint{},
		}
		x.generations[n] = g
	}
	return g
}

// decide finds the earliest article of which a is a copy, or else the earliest that a resembles.
func (x *Index) decide(a *entry) article.Verdict {
	var copied, similar found
	seen := map[*entry]bool{}
	for n := max(0, a.ms-x.windowMs) / x.generationMs; n <= saturate(a.ms, x.windowMs)/x.generationMs; n++ {
		g := x.generations[n]
		if g == nil {
			continue
		}
		for fp := range x.near(g, &a.Article) {
			for _, o := range g.byPrint[fp] {
				if seen[o] {
					continue
				}
				seen[o] = true
				switch j := x.judge(a, o); {
				case j.Kind.IsCopy():
					copied.offer(o, j)
				case j.Kind == article.Possible:
					similar.offer(o, j)
				}
			}
		}
	}
	best := copied
	if best.entry == nil {
		best = similar
	}
	m := article.Verdict{Kind: article.Unique, Root: a.Ref()}
	if o := best.entry; o != nil {
		m.Kind, m.Reason, m.Original = best.Kind, best.Reason, o.Ref()
		if m.Kind.IsCopy() {
			m.Root = o.verdict.Root
		}
		if m.Kind != article.Exact {
			m.Distance = simhash.Distance(a.Fingerprint, o.Fingerprint)
		}
	}
	return m
}

// found is the earliest article offered.
type found struct {
	*entry
	article.Judgement
}

func (f *found) offer(o *entry, j article.Judgement) {
	if f.entry == nil || o.arrival < f.arrival {
		f.entry, f.Judgement = o, j
	}
}

// near iterates over the fingerprints of a generation within the maximal distance of an article's, some repeatedly.
func (x *Index) near(g *generation, c *article.Article) iter.Seq[simhash.Fingerprint] {
	return func(yield func(simhash.Fingerprint) bool) {
		if c.LittleText {
			yield(c.Fingerprint)
			return
		}
		for _, block := range x.plan.AppendLookups(nil, c) {
			for _, fp := range g.blocks[block] {
				if simhash.Distance(c.Fingerprint, fp) <= x.cfg.MaxDistance && !yield(fp) {
					return
				}
			}
		}
	}
}

// judge says what a is to the earlier article o.
func (x *Index) judge(a, o *entry) article.Judgement {
	if a.Coordinates == o.Coordinates || max(a.ms, o.ms)-min(a.ms, o.ms) > x.windowMs {
		return article.Judgement{}
	}
	return x.cfg.Compare(&a.Article, &o.Article)
}

func (x *Index) store(g *generation, a *entry) {
	if x.stored >= x.sweepAt {
		x.sweep(a.ms)
	}
	if !a.LittleText {
		known := slices.ContainsFunc(g.byPrint[a.Fingerprint], func(o *entry) bool { return !o.LittleText })
		for _, block := range x.plan.AppendStored(nil, &a.Article) {
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
