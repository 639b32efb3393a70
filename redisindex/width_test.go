package redisindex

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/pipeline/memindex"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// With every width of blocks, below and above the 16 bits that make up a fingerprint, the index answers as the one in
// memory does with the same layout. Copies differ in weak bits, as those of real texts do.
func TestBlockWidths(t *testing.T) {
	client := newClient(t, redisserver.Addr(t))
	for _, width := range []int{12, 16, 20, 24, 32} {
		for _, probes := range []int{0, 8, 32} {
			t.Run(fmt.Sprintf("Bits=%d,Probes=%d", width, probes), func(t *testing.T) {
				cfg := testConfig(indextest.Params{Window: time.Hour, Generations: 2, MaxDistance: 16, Blocks: 4, Probes: probes})
				cfg.BlockBits = width
				require.Equal(t, simhash.Layout{Count: 4, Bits: width}, cfg.Plan().Layout)
				want, err := memindex.New(memindex.Config{Window: cfg.Window, Generations: cfg.Generations, Search: cfg.Search, BlockBits: width}).
					Claim(t.Context(), weakFamilies())
				require.NoError(t, err)
				got, err := newIndex(t, client, cfg).Claim(t.Context(), weakFamilies())
				require.NoError(t, err)
				require.Equal(t, want, got)
				copies := 0
				for _, m := range got {
					if m.Kind.IsCopy() {
						copies++
					}
				}
				require.Greater(t, copies, 100)
				require.LessOrEqual(t, copies, 300)
				if probes == 0 {
					require.Less(t, copies, 300, "nothing was missed that probes could find")
				}
			})
		}
	}
}

// weakFamilies makes 400 articles: 100 with three copies each that differ in up to eight of the forty weakest bits.
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

// Blocks of 20 bits overlap: a bit in the overlap is in two blocks, so that two bits can change all four, and only
// probes find the copy.
func TestWideBlocksNeedProbes(t *testing.T) {
	client := newClient(t, servers[0].start(t))
	a, b := newArticle(1, 0x0123456789abcdef), newArticle(2, 0x0123456789abcdef^1<<46^1<<14)
	b.Sums = new(simhash.Sums)
	for bit := range b.Sums {
		b.Sums[bit] = 100
	}
	b.Sums[46], b.Sums[14] = 1, 1
	for _, test := range []struct {
		width, probes int
		want          article.Kind
	}{{16, 0, article.Near}, {20, 0, article.Unique}, {20, 1, article.Near}, {24, 0, article.Unique}, {24, 1, article.Near}} {
		cfg := testConfig(indextest.Params{Window: time.Hour, Generations: 2, MaxDistance: 3, Blocks: 4, Probes: test.probes})
		cfg.BlockBits = test.width
		x := newIndex(t, client, cfg)
		require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
		require.Equal(t, test.want, claimOne(t, x, b).Kind, "%+v", test)
	}
}
