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

func TestDistance(t *testing.T) {
	require.Equal(t, 0, Distance(5, 5))
	require.Equal(t, 2, Distance(0b101, 0b110))
	require.Equal(t, 64, Distance(0, math.MaxUint64))
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

func TestSumOfFewFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		features []Feature
		want     Fingerprint
	}{
		"nothing":             {nil, 0},
		"one":                 {[]Feature{{0xf0f0, 2}}, 0xf0f0},
		"heavier wins":        {[]Feature{{0b1100, 3}, {0b1010, 2}}, 0b1100},
		"a tie is zero":       {[]Feature{{0b1100, 2}, {0b1010, 2}}, 0b1000},
		"majority":            {[]Feature{{0b111, 1}, {0b110, 1}, {0b100, 1}}, 0b110},
		"twice the same hash": {[]Feature{{1, 1}, {1, 1}, {2, 1.5}}, 1},
		"unusable weights":    {[]Feature{{1, math.NaN()}, {2, math.Inf(1)}, {4, -1}, {8, 0}, {16, 1}}, 16},
		"only unusable ones":  {[]Feature{{1, math.NaN()}, {2, -3}}, 0},
		"top bit":             {[]Feature{{1 << 63, 1}}, 1 << 63},
		"tiny":                {[]Feature{{3, math.SmallestNonzeroFloat64}}, 3},
		"huge":                {[]Feature{{3, math.MaxFloat64}, {5, math.MaxFloat64}, {7, math.MaxFloat64}}, 7},
		"all bits, many times": {[]Feature{{math.MaxUint64, 1}, {math.MaxUint64, 1}, {math.MaxUint64, 1}},
			math.MaxUint64},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Sum(c.features)) })
	}
}

func TestSumAgreesWithDefinition(t *testing.T) {
	r := seeded(t)
	for range 200 {
		features := make([]Feature, 1+r.IntN(300))
		for i := range features {
			features[i] = Feature{r.Uint64(), float64(1 + r.IntN(4000))}
		}
		want := naive(features)
		require.Equal(t, want, Sum(features))
		r.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
		require.Equal(t, want, Sum(features), "order must not matter")
	}
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
