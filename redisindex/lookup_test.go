package redisindex

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// nearest keeps the nearest candidates within the reach of their lists, each once. Of several candidates at the largest distance
// kept, it keeps the first ones offered. The test collects and sorts all candidates, and compares.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	capped := 0
	for range 2000 {
		const maxDistance = 8
		most := 1 + r.IntN(12)
		near := newNearest(most)
		near.reset()
		var all []candidate
		for range 1 + r.IntN(6) {
			slice, list, reach := int64(r.IntN(2)), []byte(nil), r.IntN(maxDistance+1)
			for range r.IntN(12) {
				fp := simhash.Fingerprint(0)
				for range r.IntN(10) {
					fp |= 1 << r.IntN(12)
				}
				list = binary.BigEndian.AppendUint64(list, uint64(fp))
				c := candidate{FieldRef: keyspace.FieldRef{Slice: slice, Fingerprint: fp}, distance: simhash.Distance(0, fp)}
				if c.distance <= reach && !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
			near.offerList(slice, string(list), 0, reach)
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
		want := all[:min(most, len(all))]
		found := near.take()
		require.Len(t, found, len(want))
		if len(want) < len(all) {
			capped++
		}
		require.Equal(t, len(want) < len(all), near.capped)
		for i, c := range found {
			require.Equal(t, want[i].distance, c.distance)
			require.False(t, slices.Contains(found[:i], c), "%v twice", c)
			require.Contains(t, all, c)
		}
	}
	require.Greater(t, capped, 100)
}

// BenchmarkNearest offers full lists, as for an article in a flood on one template: all fingerprints are near each other, and most
// lists hold the same ones.
func BenchmarkNearest(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	lists := make([]string, 24)
	for i := range lists {
		var list []byte
		for range keyspace.MaxListBytes / keyspace.FingerprintBytes {
			fp := uint64(0)
			for range 6 {
				fp ^= 1 << r.IntN(16)
			}
			list = binary.BigEndian.AppendUint64(list, fp)
		}
		lists[i] = string(list)
	}
	near := newNearest(keyspace.DefaultConfig().MaxCandidates)
	b.ReportAllocs()
	for b.Loop() {
		near.reset()
		for _, list := range lists {
			near.offerList(1, list, 0xff, 16)
		}
		_ = near.take()
	}
}
