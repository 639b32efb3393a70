package redisindex

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/indextest"
	"echosieve/pipeline/memindex"
	"echosieve/simhash"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// With every width of blocks, narrower and wider than the 16 bits of a quarter of a fingerprint, the index
// gives the same verdicts as the index in memory. Copies differ in weak bits, like copies of real texts.
func TestBlockWidths(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	for _, width := range []int{12, 16, 20, 24, 32} {
		for _, probes := range []int{0, 8, 32} {
			t.Run(fmt.Sprintf("Bits=%d,Probes=%d", width, probes), func(t *testing.T) {
				if width != 20 && probes != 8 {
					host.All(t)
				}
				cfg := redisrig.Config(indextest.Params{Window: time.Hour, Generations: 2, MaxDistance: 16, Blocks: 4,
					Probes: probes})
				cfg.BlockBits = width
				require.Equal(t, simhash.Layout{Count: 4, Bits: width}, cfg.Plan().Layout)
				want, err := memindex.New(memindex.Config{Window: cfg.Window, Generations: cfg.Generations,
					Search: cfg.Search, BlockBits: width}).
					Claim(t.Context(), weakFamilies())
				require.NoError(t, err)
				got, err := newIndex(t, client, cfg).Claim(t.Context(), weakFamilies())
				require.NoError(t, err)
				require.Equal(t, want, got)
				copies := 0
				for _, v := range got {
					if v.Kind.IsCopy() {
						copies++
					}
				}
				require.Greater(t, copies, 100)
				if probes == 0 {
					require.Less(t, copies, 300, "nothing was missed that probes could find")
				}
			})
		}
	}
}

// weakFamilies makes 400 articles: 100 originals with three copies each, which differ in up to eight of the
// forty weakest bits.
func weakFamilies() []article.Article {
	r := rand.New(rand.NewPCG(3, 4))
	var claims []article.Article
	for range 100 {
		first := random(r, len(claims), time.UnixMilli(1_700_000_000_000))
		first.Signature = nil
		claims = append(claims, first)
		for range 3 {
			c := random(r, len(claims), first.Time)
			c.Fingerprint, c.Sums, c.Signature = first.Fingerprint, first.Sums, nil
			if r.IntN(4) == 0 {
				c.Anchors[r.IntN(len(c.Anchors))] = first.Anchors[r.IntN(len(first.Anchors))]
			}
			turnWeak(&c, 1+r.IntN(8), r)
			claims = append(claims, c)
		}
	}
	return claims
}

// turnWeak inverts n of the forty weakest bits.
func turnWeak(c *article.Article, n int, r *rand.Rand) {
	weakest := make([]int, len(c.Sums))
	for bit := range weakest {
		weakest[bit] = bit
	}
	slices.SortFunc(weakest, func(a, b int) int { return cmp.Compare(c.Sums[a]*c.Sums[a], c.Sums[b]*c.Sums[b]) })
	for range n {
		c.Fingerprint ^= 1 << weakest[r.IntN(40)]
	}
}

// random makes article number n, with every field that the recipe news fills.
func random(r *rand.Rand, n int, at time.Time) article.Article {
	c := article.Article{
		Coordinates: article.Coordinates{Topic: "articles", Partition: int32(n % 6), Offset: int64(1_000_000 + n/6)},
		ID:          fmt.Sprintf("source-%023d", n), Time: at, Fingerprint: simhash.Fingerprint(r.Uint64()),
	}
	binary.BigEndian.PutUint64(c.Digest[:], r.Uint64())
	binary.BigEndian.PutUint64(c.Digest[8:], r.Uint64())
	c.Sums = new(simhash.Sums)
	for bit := range c.Sums {
		c.Sums[bit] = r.NormFloat64()
	}
	for range 4 {
		c.Anchors = append(c.Anchors, r.Uint64())
	}
	c.Signature = make([]byte, evidence.Size)
	for i := range c.Signature {
		c.Signature[i] = byte(r.Uint32())
	}
	return c
}
