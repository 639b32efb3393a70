package simhash

import (
	"math"
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

func shareBlock(a, b Fingerprint, k int) bool {
	other := Blocks(b, k)
	for i, block := range Blocks(a, k) {
		if block == other[i] {
			return true
		}
	}
	return false
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

func FuzzBlocks(f *testing.F) {
	f.Add(uint64(0), uint64(7), 3)
	f.Add(uint64(math.MaxUint64), uint64(0), 63)
	f.Fuzz(func(t *testing.T, a, b uint64, k int) {
		k &= 63
		if Distance(Fingerprint(a), Fingerprint(b)) <= k && !shareBlock(Fingerprint(a), Fingerprint(b), k) {
			t.Fatalf("%x and %x share no block of %d", a, b, k+1)
		}
		if a == b && Blocks(Fingerprint(a), k)[k] != Blocks(Fingerprint(b), k)[k] {
			t.Fatal("equal fingerprints have different blocks")
		}
	})
}
