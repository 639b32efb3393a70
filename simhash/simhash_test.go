package simhash

import (
	"math"
	"math/big"
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
