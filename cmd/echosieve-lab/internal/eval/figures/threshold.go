package figures

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"echosieve/pipeline/article"
)

// Nearest is an article with the earlier article that is most similar to it.
type Nearest struct {
	Article, Earlier int // places in the stream
	Level            int // place in the scale
}

// AtLimit counts the articles that a limit would flag.
type AtLimit struct {
	Limit   string  `json:"limit"`
	Pairs   int     `json:"pairs"`   // near copies at this limit and at no stricter one
	Flagged int     `json:"flagged"` // near and exact copies at this limit
	Share   float64 `json:"share"`   // of all articles
}

// LimitsResult is the result of Limits.
type LimitsResult struct {
	Docs       int       `json:"docs"`
	Exact      int       `json:"exact"`       // the same text as an earlier one
	LittleText int       `json:"little_text"` // too short for anything but exact copies
	Scale      string    `json:"scale"`
	Limits     []AtLimit `json:"limits"`
	nearest    [][]Nearest
}

// Limits finds for each article the earlier article that is most similar to it, and counts the articles that
// each limit would flag. It compares all pairs, on all cores, whatever the times of the articles. 20,000
// articles take about a second, and twice as many take four times as long. It fails only if ctx ends.
func Limits(ctx context.Context, articles []article.Article, scale Scale) (LimitsResult, error) {
	r := LimitsResult{Docs: len(articles), Scale: scale.Name, nearest: make([][]Nearest, len(scale.Limits))}
	places, compared := r.distinct(articles)
	found := make([]Nearest, len(compared))
	const chunk = 64
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for from := int(next.Add(chunk) - chunk); from < len(compared) &&
				ctx.Err() == nil; from = int(next.Add(chunk) - chunk) {
				for i := from; i < min(from+chunk, len(compared)); i++ {
					found[i] = nearestOf(compared[:i], &compared[i], scale)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return LimitsResult{}, err
	}
	for i, n := range found {
		if n.Level < len(scale.Limits) {
			r.nearest[n.Level] = append(r.nearest[n.Level], Nearest{places[i], places[n.Earlier], n.Level})
		}
	}
	flagged := r.Exact
	for level, limit := range scale.Limits {
		flagged += len(r.nearest[level])
		r.Limits = append(r.Limits, AtLimit{limit, len(r.nearest[level]), flagged, ratio(flagged, r.Docs)})
	}
	return r, nil
}

// distinct returns the articles to compare. It leaves out empty articles, little text, and articles with the
// text of an earlier one.
func (r *LimitsResult) distinct(articles []article.Article) (places []int, compared []article.Article) {
	seen := map[article.Digest]bool{}
	for i, a := range articles {
		switch {
		case a.Empty: // a dead letter
		case seen[a.Digest]:
			r.Exact++
		case a.LittleText:
			r.LittleText++
			seen[a.Digest] = true
		default:
			seen[a.Digest] = true
			places, compared = append(places, i), append(compared, a)
		}
	}
	return places, compared
}

// nearestOf returns the place among earlier of the article that is most similar to a; of several, the first.
// The level is len(scale.Limits) if none is similar enough.
func nearestOf(earlier []article.Article, a *article.Article, scale Scale) Nearest {
	best := Nearest{Level: len(scale.Limits)}
	for j := range earlier {
		if level := scale.Level(a, &earlier[j]); level < best.Level {
			best.Earlier, best.Level = j, level
		}
	}
	return best
}

// Sample draws pairs at random: at most each pairs at every level between from and to, none twice. The same
// seed draws the same pairs.
func (r *LimitsResult) Sample(from, to, each int, seed uint64) []Nearest {
	var out []Nearest
	for level := max(0, from); level <= min(to, len(r.nearest)-1); level++ {
		// Each level has a separate random source, so the pairs of a level do not depend on which other
		// levels are shown.
		random := rand.New(rand.NewPCG(seed, uint64(level)))
		for n, i := range random.Perm(len(r.nearest[level])) {
			if n == each {
				break
			}
			out = append(out, r.nearest[level][i])
		}
	}
	return out
}

// Side is one of the two articles of a pair that is shown side by side.
type Side struct {
	ID        string  `json:"id"`
	Title     string  `json:"title"`
	Publisher string  `json:"publisher"`
	Text      []Piece `json:"text"`
}

// SamplePair is a pair for the user to read.
type SamplePair struct {
	// the strictest limit at which the later article is judged to be a copy of the earlier one
	Limit   string `json:"limit"`
	Earlier Side   `json:"earlier"`
	Later   Side   `json:"later"`
}

// ThresholdResult is the output of eval threshold.
type ThresholdResult struct {
	LimitsResult
	Current string       `json:"current"` // the present limit
	Seed    uint64       `json:"seed"`
	Samples []SamplePair `json:"samples"`
}
