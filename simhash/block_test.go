package simhash

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlocksPartitionTheFingerprint(t *testing.T) {
	r := seeded(t)
	for k := range 64 {
		fp := Fingerprint(r.Uint64())
		var joined uint64
		narrow, wide, sum := 64, 0, 0
		for i, b := range Blocks(fp, k) {
			require.Equal(t, i, b.Index)
			width := BlockBits(i, k)
			narrow, wide, sum = min(narrow, width), max(wide, width), sum+width
			joined = joined<<(width%64) | b.Value // a width of 64 occurs only when joined is 0
		}
		require.Equal(t, uint64(fp), joined, "k = %d", k)
		require.Equal(t, 64, sum)
		require.LessOrEqual(t, wide-narrow, 1)
	}
}

func TestRestAndBlockMakeUpTheFingerprint(t *testing.T) {
	r := seeded(t)
	for range 2000 {
		l := Layout{Count: 1 + r.IntN(64), Bits: r.IntN(65)}
		fp := Fingerprint(r.Uint64())
		for _, b := range l.AppendBlocks(nil, fp) {
			cut := l.Cut(b.Index)
			rest := cut.Rest(fp)
			require.Equal(t, fp, cut.Join(b.Value, rest), "%+v, block %d", l, b.Index)
			require.Equal(t, 64-l.Width(b.Index), cut.RestBits())
			require.Zero(t, rest>>cut.RestBits(), "%+v, block %d", l, b.Index)
		}
		require.Equal(t, fp, Cut{}.Join(0, Cut{}.Rest(fp)))
	}
	require.Equal(t, uint64(0x89ab_cdef_0123), Layout{Count: 4}.Cut(1).Rest(0x0123_4567_89ab_cdef))
}

func TestBlocksPanicOutsideTheirRange(t *testing.T) {
	for _, k := range []int{-1, 64} {
		require.Panics(t, func() { Blocks(0, k) })
		require.Panics(t, func() { Layout{Count: k + 1}.AppendBlocks(nil, 0) })
		require.Panics(t, func() { BlockBits(0, k) })
	}
	require.Panics(t, func() { BlockBits(-1, 3) })
	require.Panics(t, func() { BlockBits(4, 3) })
}

// Blocks of any width hold the bits that follow their start. After the last bit of the fingerprint its first
// bit follows.
func TestLayout(t *testing.T) {
	const fp = 0x0123456789abcdef
	for _, c := range []struct {
		layout Layout
		want   []uint64
	}{
		{Layout{Count: 4}, []uint64{0x0123, 0x4567, 0x89ab, 0xcdef}},
		{Layout{Count: 4, Bits: 8}, []uint64{0x01, 0x45, 0x89, 0xcd}},
		{Layout{Count: 4, Bits: 24}, []uint64{0x012345, 0x456789, 0x89abcd, 0xcdef01}},
		{Layout{Count: 1, Bits: 64}, []uint64{fp}},
		{Layout{Count: 3, Bits: 4}, []uint64{0x0, 0x5, 0x5}}, // from bits 0, 22 and 43
	} {
		var got []uint64
		for i, b := range c.layout.AppendBlocks(nil, fp) {
			require.Equal(t, i, b.Index)
			got = append(got, b.Value)
		}
		require.Equal(t, c.want, got, "%+v", c.layout)
	}
}

func randomFeatures(r *rand.Rand) []Feature {
	features := make([]Feature, r.IntN(300))
	for i := range features {
		features[i] = Feature{r.Uint64(), float64(1 + r.IntN(1000))}
	}
	return features
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
