package eval

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"echosieve/pipeline"
	"echosieve/simhash"
)

// Nearest is an article with the nearest earlier one.
type Nearest struct {
	Article, Earlier int // places in the stream
	Distance         int // bits
}

// AtLimit is what a limit of K bits would do to unlabelled articles.
type AtLimit struct {
	K       int     `json:"k"`
	Pairs   int     `json:"pairs"`   // articles whose nearest earlier one is exactly K bits away, exact copies apart
	Flagged int     `json:"flagged"` // articles held to be copies, exact ones included
	Share   float64 `json:"share"`   // of all articles
}

// DistancesResult is what Distances found out.
type DistancesResult struct {
	Docs       int       `json:"docs"`
	Exact      int       `json:"exact"`       // the same text as an earlier one
	LittleText int       `json:"little_text"` // too short for anything but exact copies
	Limits     []AtLimit `json:"distance"`
	nearest    [MaxPlainDistance + 1][]Nearest
}

// Distances finds for each article the nearest earlier one and counts what each limit from 0 to MaxPlainDistance bits
// would flag. All pairs are compared, on all cores, as if they lay within one window: 20,000 articles take a second
// or so, and twice as many four times as long.
func Distances(articles []pipeline.Article) DistancesResult {
	r := DistancesResult{Docs: len(articles)}
	places, prints := r.distinct(articles)
	distances, earlier := make([]uint8, len(prints)), make([]int32, len(prints))
	const chunk = 64
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for from := next.Add(chunk) - chunk; from < int64(len(prints)); from = next.Add(chunk) - chunk {
				for i := int(from); i < min(int(from)+chunk, len(prints)); i++ {
					distances[i], earlier[i] = nearestOf(prints[:i], prints[i])
				}
			}
		})
	}
	workers.Wait()
	for i, d := range distances {
		if d <= MaxPlainDistance {
			r.nearest[d] = append(r.nearest[d], Nearest{places[i], places[earlier[i]], int(d)})
		}
	}
	flagged := r.Exact
	for k := range r.nearest {
		flagged += len(r.nearest[k])
		r.Limits = append(r.Limits, AtLimit{k, len(r.nearest[k]), flagged, ratio(flagged, r.Docs)})
	}
	return r
}

// distinct picks the articles whose distance counts: neither little text nor the same text as an earlier one.
func (r *DistancesResult) distinct(articles []pipeline.Article) (places []int, prints []simhash.Fingerprint) {
	seen := map[pipeline.Digest]bool{}
	for i, a := range articles {
		if a.LittleText {
			r.LittleText++
		}
		if seen[a.Digest] {
			r.Exact++
			continue
		}
		seen[a.Digest] = true
		if !a.LittleText {
			places, prints = append(places, i), append(prints, a.Fingerprint)
		}
	}
	return places, prints
}

// nearestOf returns the least distance of fp to any of earlier, and the first place where it occurs; 255 for none.
func nearestOf(earlier []simhash.Fingerprint, fp simhash.Fingerprint) (distance uint8, place int32) {
	least := 255
	for j, other := range earlier {
		if d := simhash.Distance(fp, other); d < least {
			least, place = d, int32(j)
		}
	}
	return uint8(least), place
}

// Sample draws at most each pairs at every distance from..to, without repeats; the same seed draws the same ones.
func (r *DistancesResult) Sample(from, to, each int, seed uint64) []Nearest {
	var out []Nearest
	for d := max(0, from); d <= min(to, MaxPlainDistance); d++ {
		// A source for each distance: what is drawn at one does not depend on the others shown.
		random := rand.New(rand.NewPCG(seed, uint64(d)))
		for n, i := range random.Perm(len(r.nearest[d])) {
			if n == each {
				break
			}
			out = append(out, r.nearest[d][i])
		}
	}
	return out
}
