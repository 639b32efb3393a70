// Package memindex keeps the article index in memory. Reference runs, benchmarks and tests use it, and it is the simplest statement of
// which verdicts an index gives. Its articles are lost when the process ends.
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

// Config says which articles the index remembers and how it finds them. All fields mean the same as in package redisindex.
type Config struct {
	Window      time.Duration
	Generations int // number of slices in the window: exact repeats are found within a slice, and memory is freed by slice
	article.Search
	article.Policy
	BlockBits int // width of the blocks of a fingerprint; 0: as wide as makes up the fingerprint
}

// Index is a pipeline.Index in memory. An article's number in the order of arrival is its ticket. Safe for concurrent use.
type Index struct {
	cfg      Config
	plan     lookup.Plan
	windowMs int64
	sliceMs  int64

	mu        sync.Mutex
	arrivals  int // articles stored so far
	stored    int // articles held now
	sweepAt   int // number of stored articles at which the next sweep runs
	lastSweep int // arrivals at the last sweep
	byNumber  map[int64]*slice
}

var _ pipeline.Index = (*Index)(nil)

// minSweep is the number of stored articles below which nothing is forgotten.
const minSweep = 1 << 16

// slice holds the articles of one piece of time. Slices are numbered from 1970.
type slice struct {
	lastArrival int
	byDigest    map[article.Digest]*entry
	byPrint     map[simhash.Fingerprint][]*entry // in order of arrival
	blocks      map[simhash.Block][]simhash.Fingerprint
	retracted   map[article.Coordinates]*entry // found by nothing but a replay
}

// entry is a stored article, without its sums and anchors: these are only for its own look-ups.
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
		cfg: cfg, plan: lookup.New(cfg.Search, cfg.BlockBits), windowMs: cfg.Window.Milliseconds(), sliceMs: seconds * 1000,
		sweepAt: minSweep, byNumber: map[int64]*slice{},
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

// claim returns the verdict of one article and stores the article. An exact repeat within its original's slice is not stored: when it is
// claimed again, it finds the original's entry by digest and gets the same verdict.
func (x *Index) claim(a *article.Article) article.Verdict {
	ms := max(0, a.Time.UnixMilli())
	s := x.slice(ms / x.sliceMs)
	if o := s.retracted[a.Coordinates]; o != nil && o.Digest == a.Digest {
		return o.verdict
	}
	if o := s.byDigest[a.Digest]; o != nil {
		if o.Coordinates == a.Coordinates {
			return o.verdict
		}
		return article.ExactVerdict(o.Ref(), o.verdict.Root)
	}
	e := &entry{Article: *a, arrival: x.arrivals, ms: ms}
	e.verdict = x.decide(e)
	x.store(s, e)
	e.Sums, e.Anchors = nil, nil
	return e.verdict
}

// Retract implements pipeline.Index. It fails only if ctx has ended.
func (x *Index) Retract(ctx context.Context, a *article.Article) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.slice(max(0, a.Time.UnixMilli()) / x.sliceMs)
	if o := s.byDigest[a.Digest]; o != nil && o.Coordinates == a.Coordinates {
		delete(s.byDigest, a.Digest)
		s.byPrint[o.Fingerprint] = slices.DeleteFunc(s.byPrint[o.Fingerprint], func(e *entry) bool { return e == o })
		s.retracted[o.Coordinates] = o
	}
	return nil
}

// slice returns slice n, which it makes if necessary.
func (x *Index) slice(n int64) *slice {
	s := x.byNumber[n]
	if s == nil {
		s = &slice{
			byDigest: map[article.Digest]*entry{}, byPrint: map[simhash.Fingerprint][]*entry{}, blocks: map[simhash.Block][]simhash.Fingerprint{},
			retracted: map[article.Coordinates]*entry{},
		}
		x.byNumber[n] = s
	}
	return s
}

// decide finds the article of which a is a copy or, without one, the article of which a is possibly a copy: of several the earliest one
// with the same id or, without one, the earliest one.
func (x *Index) decide(a *entry) article.Verdict {
	var copied, similar earliest
	seen := map[*entry]bool{}
	for n := max(0, a.ms-x.windowMs) / x.sliceMs; n <= saturate(a.ms, x.windowMs)/x.sliceMs; n++ {
		s := x.byNumber[n]
		if s == nil {
			continue
		}
		for fp := range x.near(s, &a.Article) {
			for _, o := range s.byPrint[fp] {
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
	v := article.Verdict{Kind: article.Unique, Root: a.Ref()}
	if o := best.entry; o != nil {
		v.Kind, v.Reason, v.Likeness, v.Original = best.Kind, best.Reason, best.Likeness, o.Ref()
		v.Destination = x.cfg.Destination(best.Judgement)
		if v.Kind.IsCopy() {
			v.Root = o.verdict.Root
		}
		if v.Kind != article.Exact {
			v.Distance = simhash.Distance(a.Fingerprint, o.Fingerprint)
		}
	}
	return v
}

// earliest keeps, of the articles that it is offered, the earliest with the same id or, without one, the earliest.
type earliest struct {
	*entry
	article.Judgement
}

func (f *earliest) offer(o *entry, j article.Judgement) {
	if f.entry == nil || j.SameID && !f.SameID || j.SameID == f.SameID && o.arrival < f.arrival {
		f.entry, f.Judgement = o, j
	}
}

// near iterates over the fingerprints in a slice that are candidates for an article. Some come repeatedly.
func (x *Index) near(s *slice, a *article.Article) iter.Seq[simhash.Fingerprint] {
	return func(yield func(simhash.Fingerprint) bool) {
		if a.LittleText {
			yield(a.Fingerprint)
			return
		}
		filter := x.plan.NewFilter()
		for _, block := range x.plan.AppendLookups(nil, a) {
			for _, fp := range s.blocks[block] {
				if filter.Accepts(block.Index, fp, simhash.Distance(a.Fingerprint, fp)) && !yield(fp) {
					return
				}
			}
		}
	}
}

// judge says what a is to the earlier article o: nothing if both are one record or are farther apart than the window.
func (x *Index) judge(a, o *entry) article.Judgement {
	if a.Coordinates == o.Coordinates || max(a.ms, o.ms)-min(a.ms, o.ms) > x.windowMs {
		return article.Judgement{}
	}
	return x.cfg.Compare(&a.Article, &o.Article)
}

func (x *Index) store(s *slice, a *entry) {
	if x.stored >= x.sweepAt {
		x.sweep(a.ms)
	}
	if !a.LittleText {
		stored := slices.ContainsFunc(s.byPrint[a.Fingerprint], func(o *entry) bool { return !o.LittleText })
		for _, block := range x.plan.AppendStored(nil, &a.Article) {
			if !stored || !slices.Contains(s.blocks[block], a.Fingerprint) {
				s.blocks[block] = append(s.blocks[block], a.Fingerprint)
			}
		}
	}
	s.byDigest[a.Digest] = a
	s.byPrint[a.Fingerprint] = append(s.byPrint[a.Fingerprint], a)
	s.lastArrival = x.arrivals
	x.arrivals++
	x.stored++
}

// sweep forgets the slices that are outside the window around now and got no article since the last sweep. The second condition is needed
// because now is the time of one article: if its clock is wrong, the slices of all other articles are outside the window.
func (x *Index) sweep(now int64) {
	for n, s := range x.byNumber {
		far := (n+1)*x.sliceMs < now-x.windowMs || n*x.sliceMs > saturate(now, x.windowMs)
		if far && s.lastArrival < x.lastSweep {
			x.stored -= len(s.byDigest) + len(s.retracted)
			delete(x.byNumber, n)
		}
	}
	x.lastSweep = x.arrivals
	x.sweepAt = max(minSweep, x.stored+x.stored/4)
}

// saturate adds two numbers that are not negative. It returns the largest number where the sum would overflow.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}
