package simhash

import (
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFingerprintFormats(t *testing.T) {
	for _, c := range []struct {
		fp        Fingerprint
		hex, bits string
	}{
		{0, "0000000000000000", "0000000000000000000000000000000000000000000000000000000000000000"},
		{1, "0000000000000001", "0000000000000000000000000000000000000000000000000000000000000001"},
		{0x8123456789abcdef, "8123456789abcdef", "1000000100100011010001010110011110001001101010111100110111101111"},
		{math.MaxUint64, "ffffffffffffffff", "1111111111111111111111111111111111111111111111111111111111111111"},
	} {
		require.Equal(t, c.hex, c.fp.String())
		require.Equal(t, c.bits, c.fp.Bits())
	}
}

func TestParse(t *testing.T) {
	for _, f := range []Fingerprint{0, 0xabc, 1<<64 - 1} {
		parsed, err := Parse(f.String())
		require.NoError(t, err)
		require.Equal(t, f, parsed)
	}
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

// FNV-1a comes from the standard library here; the finaliser maps 0 to 0 and must be a bijection.
func TestHashIsFinalisedFNV(t *testing.T) {
	for _, word := range []string{"", "a", "foobar", "新华社", "\x00\xff"} {
		f := fnv.New64a()
		_, _ = f.Write([]byte(word))
		require.Equal(t, f.Sum64(), unmix(Hash(word)), "word %q", word)
	}
}

// unmix inverts fmix64: the inverse of x ^= x>>33 is itself, those of the factors are found modulo 2^64.
func unmix(h uint64) uint64 {
	modulus := new(big.Int).Lsh(big.NewInt(1), 64)
	inverse := func(f uint64) uint64 {
		return new(big.Int).ModInverse(new(big.Int).SetUint64(f), modulus).Uint64()
	}
	h = (h ^ h>>33) * inverse(0xc4ceb9fe1a85ec53)
	h = (h ^ h>>33) * inverse(0xff51afd7ed558ccd)
	return h ^ h>>33
}

// Each output bit of Hash should be set for half of the words, short ones included.
func TestHashBitsAreBalanced(t *testing.T) {
	const words = 20000
	var ones [64]int
	for i := range words {
		h := Hash(strconv.Itoa(i))
		for b := range ones {
			ones[b] += int(h >> b & 1)
		}
	}
	for b, n := range ones {
		require.InDelta(t, words/2, n, words/50, "bit %d", b)
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
