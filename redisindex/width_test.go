package redisindex

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/indextest"
	"echosieve/pipeline/memindex"
	"echosieve/redisindex/keyspace"
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
				require.LessOrEqual(t, copies, 300)
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

// A claim looks up, for each task, the lists of its article's plan in each slice in reach, whatever the width
// and the number of blocks. Values that differ in their first or last bit only are different lists.
func TestLookupsOfAClaim(t *testing.T) {
	for _, p := range []struct{ blocks, bits int }{{1, 6}, {3, 16}, {3, 32}, {16, 32}} {
		t.Run(fmt.Sprintf("%dx%d", p.blocks, p.bits), func(t *testing.T) {
			cfg := redisrig.Config(indextest.Params{Window: time.Hour, Generations: 3, MaxDistance: 21,
				Blocks: p.blocks, Probes: 4})
			cfg.BlockBits = p.bits
			x := newIndex(t, redisrig.Client(t, miniredis.RunT(t).Addr()), cfg)
			r := rand.New(rand.NewPCG(5, 6))
			articles := make([]article.Article, 60)
			for i := range articles {
				articles[i] = random(r, i, time.UnixMilli(1_700_000_000_000).Add(time.Duration(i)*5*time.Minute))
				if i > 0 {
					for k, anchor := range articles[i-1].Anchors {
						bit := 63 // the first of the value
						if k%2 == 0 {
							bit -= p.bits // the last
						}
						articles[i].Anchors[k] = anchor ^ 1<<bit
					}
				}
			}
			c := newClaim(x, articles, nil)
			want := make([][]keyspace.ListRef, len(c.tasks))
			for i, task := range c.tasks {
				for slice, last := x.layout.Reach(task.Millis()); slice <= last; slice++ {
					c.seen[slice] = true
					for _, b := range x.layout.Plan.AppendLookups(nil, &task.Article) {
						want[i] = append(want[i], keyspace.ListRef{Slice: slice, Block: b.Index, Value: b.Value})
					}
				}
			}
			l := c.queueLookups(t.Context(), x.client.Pipeline(), c.tasks)
			for i := range c.tasks {
				var got []keyspace.ListRef
				for _, n := range l.needs[i] {
					got = append(got, l.refs[n])
				}
				require.Equal(t, want[i], got)
			}
		})
	}
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
