package lookup

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// sums makes the lowest bit of each 16-bit block the weakest.
func sums() *simhash.Sums {
	s := new(simhash.Sums)
	for i := range s {
		s[i] = 100
	}
	for block := range 4 {
		s[16*block] = 1
	}
	return s
}

const allLowest = 1<<48 | 1<<32 | 1<<16 | 1 // the lowest bit of each of four blocks

func TestFinds(t *testing.T) {
	plan := New(article.Search{Blocks: 4, Probes: 1}, 0)
	earlier := &article.Article{Anchors: []uint64{10 << 48, 20 << 48, 30 << 48, 40 << 48}}
	for name, c := range map[string]struct {
		later *article.Article
		want  bool
	}{
		"one block equal":        {&article.Article{Fingerprint: 1<<48 | 1<<32 | 1<<16}, true},
		"no block equal":         {&article.Article{Fingerprint: allLowest}, false},
		"probes":                 {&article.Article{Fingerprint: allLowest, Sums: sums()}, true},
		"two bits in each block": {&article.Article{Fingerprint: allLowest * 3, Sums: sums()}, false},
		"last anchor, first there": {&article.Article{Fingerprint: allLowest, Anchors: []uint64{1, 2, 3, 10 << 48}},
			true},
		"second anchor there": {&article.Article{Fingerprint: allLowest, Anchors: []uint64{20 << 48}}, true},
		"third anchor there":  {&article.Article{Fingerprint: allLowest, Anchors: []uint64{30 << 48}}, true},
		"fourth anchor there": {&article.Article{Fingerprint: allLowest, Anchors: []uint64{40 << 48}}, false},
		"little text":         {&article.Article{Fingerprint: 1, LittleText: true}, false},
		"little text, equal":  {&article.Article{LittleText: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, plan.Finds(c.later, earlier))
			if !c.later.LittleText {
				found := false
				for _, l := range plan.Lookups(c.later, earlier) {
					found = found || l.Found
				}
				require.Equal(t, c.want, found, "Lookups disagree with Finds")
			}
		})
	}
}

func TestLookupsAreNumbered(t *testing.T) {
	plan := New(article.Search{Blocks: 2, Probes: 1}, 20)
	require.Equal(t, simhash.Layout{Count: 2, Bits: 20}, plan.Layout)
	later := &article.Article{Sums: sums(), Anchors: []uint64{7 << 44, 8 << 44}}
	// in the first block only, and its weakest bit
	earlier := &article.Article{Fingerprint: 1 << 48, Anchors: []uint64{8 << 44}}
	require.Equal(t, []Lookup{
		{Block: 0},
		{Block: 0, Number: 1, Found: true},
		{Block: 1, Found: true},
		{Block: 1, Number: 1},
		{Block: 2},
		{Block: 2, Number: 1, Found: true},
	}, plan.Lookups(later, earlier))
}

// Nearest keeps the nearest of the candidates that the lists make, each once. Of several candidates at the
// largest distance kept, it keeps the first ones offered. The test collects and sorts all candidates, and
// compares.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	capped, lone := 0, 0
	plan := New(article.Search{Rule: article.Rule{MaxDistance: 8}, Blocks: 4, LoneDistance: 4}, 0)
	for range 2000 {
		most := 1 + r.IntN(12)
		near := NewNearest(&plan, most)
		near.Reset()
		var all []Candidate
		for slice := range int64(2) {
			lists := map[simhash.Fingerprint]int{} // that hold the fingerprint
			for block := range 1 + r.IntN(5) {
				var list []simhash.Fingerprint
				held := map[simhash.Fingerprint]bool{}
				for range r.IntN(12) {
					fp := simhash.Fingerprint(0)
					for range r.IntN(10) {
						fp |= 1 << r.IntN(8)
					}
					if held[fp] {
						continue
					}
					held[fp] = true
					lists[fp]++
					list = append(list, fp)
					c := Candidate{slice, fp, simhash.Distance(0, fp)}
					switch reached := c.Distance <= 4 || block == 4 || lists[fp] > 1; {
					case !reached:
						lone++
					case !slices.Contains(all, c):
						all = append(all, c)
					}
				}
				near.Offer(slice, block, list, 0)
			}
		}
		slices.SortStableFunc(all, func(a, b Candidate) int { return cmp.Compare(a.Distance, b.Distance) })
		want := all[:min(most, len(all))]
		found := near.Take()
		require.Len(t, found, len(want))
		if len(want) < len(all) {
			capped++
		}
		require.Equal(t, len(want) < len(all), near.Capped)
		for i, c := range found {
			require.Equal(t, want[i].Distance, c.Distance)
			require.False(t, slices.Contains(found[:i], c), "%v twice", c)
			require.Contains(t, all, c)
		}
	}
	require.Greater(t, capped, 100)
	require.Greater(t, lone, 100)
}
