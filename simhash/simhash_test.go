package simhash

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, f := range []Fingerprint{0, 0xabc, 1<<64 - 1} {
		parsed, err := Parse(f.String())
		require.NoError(t, err)
		require.Equal(t, f, parsed)
	}
	require.Equal(t, strings.Repeat("01", 32), Fingerprint(0x5555555555555555).Bits())
	for _, bad := range []string{"", "abc", "0000000000000abg", "00000000000000000", "+000000000000abc"} {
		_, err := Parse(bad)
		require.Error(t, err, bad)
	}
}

// naive is Charikar's definition with exact arithmetic.
func naive(features []Feature) Fingerprint {
	var sums [64]*big.Rat
	for i := range sums {
		sums[i] = new(big.Rat)
		for _, f := range features {
			if !(f.Weight > 0) || math.IsInf(f.Weight, 1) {
				continue
			}
			w := new(big.Rat).SetFloat64(f.Weight)
			if f.Hash>>i&1 == 0 {
				w.Neg(w)
			}
			sums[i].Add(sums[i], w)
		}
	}
	var fp Fingerprint
	for i, s := range sums {
		if s.Sign() > 0 {
			fp |= 1 << i
		}
	}
	return fp
}

// Few features with small weights make ties, of which each is a zero bit.
func TestSumAgreesWithDefinition(t *testing.T) {
	r := seeded(t)
	unusable := []float64{math.NaN(), math.Inf(1), -1, 0}
	for i := range 400 {
		features := make([]Feature, r.IntN(300)*(i%2)+r.IntN(5))
		for i := range features {
			features[i] = Feature{r.Uint64(), float64(1 + r.IntN(4000))}
			if len(features) < 5 {
				features[i].Weight = float64(1 + r.IntN(2))
			}
			if r.IntN(10) == 0 {
				features[i].Weight = unusable[r.IntN(len(unusable))]
			}
		}
		want := naive(features)
		var sums Sums
		require.Equal(t, want, SumWeights(features, &sums))
		for i, v := range sums {
			require.Equal(t, v > 0, want>>i&1 == 1, "bit %d, sum %v", i, v)
		}
		r.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
		require.Equal(t, want, Sum(features), "order must not matter")
	}
	require.EqualValues(t, 3, Sum([]Feature{{3, math.SmallestNonzeroFloat64}}))
	require.EqualValues(t, 7, Sum([]Feature{{3, math.MaxFloat64}, {5, math.MaxFloat64}, {7, math.MaxFloat64}}))
}

// The lanes must not run over at the largest number of equal weights just below and at powers of two.
func TestSumOfManyFeatures(t *testing.T) {
	for _, n := range []int{1023, 1024, 1025, 1 << 17, 1<<17 + 1} {
		features := make([]Feature, n)
		for i := range features {
			features[i] = Feature{0x8000_0001_8000_0001, math.Nextafter(2, 1)}
		}
		require.Equal(t, Fingerprint(0x8000_0001_8000_0001), Sum(features), "%d features", n)
	}
}

func TestNoAllocations(t *testing.T) {
	features := []Feature{{Hash("a"), 1}, {Hash("b"), 2}}
	blocks := make([]Block, 0, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		fp := Sum(features)
		sinkInt = Distance(fp, 1)
		blocks = Layout{Count: 4}.AppendBlocks(blocks[:0], fp)
	}))
}

var sinkInt int

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Fingerprints are stored and compared for a long time. If this test fails, stored fingerprints lose their
// meaning: a new hash or a new sum needs a new recipe version, not new numbers here.
func TestGolden(t *testing.T) {
	for word, want := range map[string]uint64{
		"":       0xefd01f60ba992926,
		"a":      0x82a2a958a9bece5b,
		"news":   0x512538bfa8bf202f,
		"新华社":    0xda2a310113b947fc,
		"foobar": 0x2c22194922d1672b,
	} {
		require.Equal(t, want, Hash(word), "%q: %#x", word, Hash(word))
	}
	words := []string{"central", "bank", "raises", "interest", "rates", "人民银行", "利率", "上调"}
	features := make([]Feature, len(words))
	for i, word := range words {
		features[i] = Feature{Hash(word), float64(i*i + 1)}
	}
	require.Equal(t, "1f2e59535e312cf5", Sum(features).String())
}

func TestBlocksPartitionTheFingerprint(t *testing.T) {
	r := seeded(t)
	for k := range 64 {
		fp := Fingerprint(r.Uint64())
		var joined uint64
		narrow, wide, sum := 64, 0, 0
		for i, b := range (Layout{Count: k + 1}).AppendBlocks(nil, fp) {
			require.Equal(t, i, b.Index)
			width := Layout{Count: k + 1}.Width(i)
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
		require.Panics(t, func() { Layout{Count: k + 1}.AppendBlocks(nil, 0) })
	}
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
