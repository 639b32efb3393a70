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
