package simhash

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func randomFeatures(r *rand.Rand) []Feature {
	features := make([]Feature, r.IntN(300))
	for i := range features {
		features[i] = Feature{r.Uint64(), float64(1 + r.IntN(1000))}
	}
	return features
}

func TestSumWeightsIsSum(t *testing.T) {
	r := seeded(t)
	for range 200 {
		features := append(randomFeatures(r), Feature{r.Uint64(), math.NaN()}, Feature{r.Uint64(), -1})
		var sums Sums
		fp := SumWeights(features, &sums)
		require.Equal(t, Sum(features), fp)
		for i, v := range sums {
			require.Equal(t, v > 0, fp>>i&1 == 1, "bit %d, sum %v", i, v)
		}
	}
}

// The values are those of all flip sets of the six weakest bits, in the order of cost, and all different.
func TestProbesComeByCost(t *testing.T) {
	r := seeded(t)
	for k := range 64 {
		var sums Sums
		fp := SumWeights(randomFeatures(r), &sums)
		n := r.IntN(MaxProbes + 1)
		layout := Layout{Count: k + 1, Bits: min(64, r.IntN(64/(k+1)+8)) * r.IntN(2)}
		probes := layout.AppendProbes(nil, fp, &sums, n)
		for i, block := range layout.AppendBlocks(nil, fp) {
			width := layout.Width(i)
			own := sumsOfBlock(&sums, layout, i)
			count := min(n+1, 1<<min(width, probeBits))
			seen, last := map[uint64]bool{}, -1.0
			require.Equal(t, block, probes[0], "the first is the block itself")
			for _, p := range probes[:count] {
				require.Equal(t, i, p.Index)
				require.False(t, seen[p.Value], "repeated")
				seen[p.Value] = true
				cost := costOf(p.Value^block.Value, own)
				require.GreaterOrEqual(t, cost, last*(1-1e-12))
				last = cost
			}
			if count == n+1 && width <= probeBits { // none left out is cheaper
				for v := range uint64(1) << width {
					if !seen[v] {
						require.GreaterOrEqual(t, costOf(v^block.Value, own), last*(1-1e-12))
					}
				}
			}
			probes = probes[count:]
		}
		require.Empty(t, probes)
	}
}

// sumsOfBlock finds out by trying which bits of a fingerprint the bits of a block are.
func sumsOfBlock(sums *Sums, layout Layout, i int) []float64 {
	own := make([]float64, layout.Width(i))
	for bit, v := range sums {
		if value := layout.AppendBlocks(nil, 1<<bit)[i].Value; value != 0 {
			own[bits.TrailingZeros64(value)] = v
		}
	}
	return own
}

func costOf(flipped uint64, sums []float64) float64 {
	cost := 0.0
	for bit, v := range sums {
		if flipped>>bit&1 == 1 {
			cost += v * v
		}
	}
	return cost
}

func TestProbesPanicOutsideTheirRange(t *testing.T) {
	var sums Sums
	for _, c := range [][3]int{{0, 0, 0}, {65, 0, 0}, {4, -1, 0}, {4, 65, 0}, {4, 0, -1}, {4, 0, MaxProbes + 1}} {
		require.Panics(t, func() { Layout{c[0], c[1]}.AppendProbes(nil, 0, &sums, c[2]) }, "%v", c)
	}
}
