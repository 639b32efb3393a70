package signature

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/simhash"
)

func someWords(r *rand.Rand, n int) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = simhash.Mix(r.Uint64N(200)) // so that some words occur again
	}
	return words
}

// anchorsOf computes the anchors by their definition.
func anchorsOf(words []uint64, n int) []uint64 {
	pair := func(i int) uint64 { return simhash.Mix(words[i+1] ^ simhash.Mix(words[i])) }
	var hashes []uint64
	for i := range len(words) - 3 {
		hashes = append(hashes, simhash.Mix(pair(i+2)^bits.RotateLeft64(pair(i), 32)))
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	for i, h := range hashes {
		hashes[i] = simhash.Mix(h)
	}
	return hashes[:min(n, len(hashes))]
}

func TestAnchorsAreTheLeastHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b Builder
	for range 300 {
		words := someWords(r, r.IntN(60))
		for part := words; len(part) > 0; { // in pieces, some of them empty
			n := r.IntN(len(part) + 1)
			b.Add(part[:n])
			part = part[n:]
		}
		n := r.IntN(MaxAnchors + 1)
		want := anchorsOf(words, n)
		require.Equal(t, append([]uint64{7}, want...), b.AppendAnchors([]uint64{7}, n, ""))
		b.Reset()
		require.Empty(t, b.AppendAnchors(nil, MaxAnchors, ""), "the next article has its own")
	}
}

// A text that was edited in a few places, or doubled in length, mostly shares an anchor with its original. Other texts share none.
func TestAnchorsOfCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	anchors := func(words []uint64) []uint64 {
		var b Builder
		b.Add(words)
		return b.AppendAnchors(nil, 4, "")
	}
	edited, longer, other := 0, 0, 0
	const texts = 500
	for range texts {
		words := make([]uint64, 400)
		for i := range words {
			words[i] = r.Uint64()
		}
		first := anchors(words)[:2]
		common := func(of []uint64) int {
			if slices.ContainsFunc(first, func(a uint64) bool { return slices.Contains(of, a) }) {
				return 1
			}
			return 0
		}
		more := make([]uint64, 800)
		for i := range more {
			more[i] = r.Uint64()
		}
		copy(more[300:], words)
		longer += common(anchors(more))
		other += common(anchors(more[:300]))
		for range 10 {
			words[r.IntN(len(words))]++
		}
		edited += common(anchors(words))
	}
	require.Greater(t, edited, texts*97/100) // each run is unchanged with a probability of 0.9
	require.Greater(t, longer, texts*90/100)
	require.Zero(t, other)
}

// The third anchor is that of the numbers, whatever the words. Articles with fewer than three numbers have anchors of their words only.
func TestAnchorOfNumbers(t *testing.T) {
	r := seeded(t)
	anchors := func(n int, clean string) []uint64 {
		var b Builder
		b.Add(someWords(r, 60))
		return b.AppendAnchors(nil, n, clean)
	}
	const numbers = "a profit of 952 million, after 1127 million, and 35 percent of 4250 shares"
	want := anchors(4, numbers)
	require.Len(t, want, 4)
	same := anchors(3, "of 4250 shares 35 percent, 5 ships, 952 million after 1127 million, call 202/224-5641")
	require.Len(t, same, 3)
	require.Equal(t, want[2], same[2])
	require.NotEqual(t, want[2], anchors(4, "a profit of 953 million, after 1128 million, and 36 percent of 4251 shares")[2])
	require.NotContains(t, anchors(2, numbers), want[2])

	words := someWords(r, 60)
	var b Builder
	b.Add(words)
	require.Equal(t, anchorsOf(words, 4), b.AppendAnchors(nil, 4, "952 million after 1127 million, and 5 or 6 ships"))
}
