package evidence

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

// anchorsOf computes the anchors of a text without numbers by their definition.
func anchorsOf(words []uint64, n int) []uint64 {
	pair := func(i int) uint64 { return simhash.Mix(words[i+1] ^ simhash.Mix(words[i])) }
	var hashes []uint64
	for i := range len(words) - 3 {
		hashes = append(hashes, simhash.Mix(pair(i+2)^bits.RotateLeft64(pair(i), 32)))
	}
	if len(hashes) == 0 {
		return nil
	}
	beginning := slices.Min(hashes[:min(len(hashes), beginningWords-3)])
	slices.Sort(hashes)
	var anchors []uint64
	for _, h := range slices.Insert(hashes, 1, beginning) {
		if h = simhash.Mix(h); !slices.Contains(anchors, h) {
			anchors = append(anchors, h)
		}
	}
	return anchors[:min(n, len(anchors))]
}

func TestAnchorsAreTheLeastHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b Builder
	for range 300 {
		words := someWords(r, r.IntN(200))
		for part := words; len(part) > 0; { // in pieces, some of them empty
			n := r.IntN(len(part) + 1)
			b.Add(part[:n])
			part = part[n:]
		}
		n := r.IntN(MaxAnchors + 1)
		want := anchorsOf(words, n)
		require.Equal(t, append([]uint64{7}, want...), b.AppendAnchors([]uint64{7}, n))
		b.Reset()
		require.Empty(t, b.AppendAnchors(nil, MaxAnchors), "the next article has its own")
	}
}

// One of the first three anchors is that of the numbers, whatever the words. Articles with fewer than three
// numbers have anchors of their words only.
func TestAnchorOfNumbers(t *testing.T) {
	r := seeded(t)
	const numbers = "a profit of 952 million, after 1127 million, and 35 percent of 4250 shares"
	inCommon := func(clean string) int { // of two articles with other words
		var a, b Builder
		a.Add(someWords(r, 200))
		b.Add(someWords(r, 200))
		a.AddNumbers(numbers, 0)
		b.AddNumbers(clean, 0)
		first := a.AppendAnchors(nil, 3)
		require.Len(t, first, 3)
		n := 0
		for _, anchor := range b.AppendAnchors(nil, 3) {
			if slices.Contains(first, anchor) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, inCommon(
		"of 4250 shares 35 percent, 5 ships, 952 million after 1127 million, call 202/224-5641"))
	require.Zero(t, inCommon("a profit of 953 million, after 1128 million, and 36 percent of 4251 shares"))

	words := someWords(r, 200)
	var b Builder
	b.Add(words)
	b.AddNumbers("952 million after 1127 million, and 5 or 6 ships", 0)
	require.Equal(t, anchorsOf(words, 4), b.AppendAnchors(nil, 4))
}
