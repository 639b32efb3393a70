package redisindex

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/indextest"
	"echosieve/pipeline/memindex"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

func TestKeysStayCompact(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	x := newIndex(t, client, redisrig.Config(redisrig.Standard))
	for n := range 100 {
		claimOne(t, x, redisrig.Article(n, 1<<63|simhash.Fingerprint(n%50)*0x123456789abcdef1))
	}
	members := 0
	for _, key := range client.Keys(t.Context(), x.keys.Prefix+"b:*").Val() {
		block, err := strconv.Atoi(strings.Split(strings.TrimPrefix(key, x.keys.Prefix), ":")[2])
		require.NoError(t, err)
		for _, list := range client.HGetAll(t.Context(), key).Val() {
			members += len(list) / x.keys.Layout.MemberBytes(block)
		}
	}
	require.Equal(t, 4*50, members, "each fingerprint once in each block")
}

func TestAddToLists(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		for _, size := range []int{4, 6, 8} {
			t.Run(strconv.Itoa(size), func(t *testing.T) { testAddToLists(t, client, size) })
		}
	})
}

func testAddToLists(t *testing.T, client redis.UniversalClient, size int) {
	key := fmt.Sprintf("%s:lists%d", redisrig.Config(redisrig.Standard).Namespace, size)
	add := func(fieldsThenLists ...any) {
		for range 2 { // the second time, the lists hold all fingerprints
			args := append([]any{60, size, keyspace.MaxMembers}, fieldsThenLists...)
			reply, err := addScript.Run(t.Context(), client, []string{key}, args...).Int64Slice()
			require.NoError(t, err)
			require.Equal(t, []int64{0, 0}, reply)
		}
	}
	a, b := "\x00\x01\x02\x03\x04\x05\x06\x07"[:size], "\x04\xff%[a]\r\n"[:size]
	straddling := (a + b)[size/2 : size/2+size]
	add("x", "y", a+b+a, b+b)
	add("x", b+straddling)
	want := a + b + straddling
	require.Equal(t, want, client.HGet(t.Context(), key, "x").Val())
	require.Equal(t, b, client.HGet(t.Context(), key, "y").Val())
	for n := range keyspace.MaxMembers - 3 { // a flood
		fp := keyspace.FieldRef{Fingerprint: simhash.Fingerprint(n)}.Name()[8-size:]
		add("x", fp)
		want += fp
	}
	require.Equal(t, want, client.HGet(t.Context(), key, "x").Val())
	require.Greater(t, client.TTL(t.Context(), key).Val(), 50*time.Second)
}

// fullList are so many articles more than a list holds, all of one block, else apart.
func fullList(more int) []article.Article {
	claims := make([]article.Article, keyspace.MaxMembers+more)
	for n := range claims {
		claims[n] = redisrig.Article(n, simhash.Fingerprint(uint64(n)*0x9E3779B97F4A7C15)>>16)
	}
	return claims
}

// A full list loses its oldest fingerprints. Their articles are still found through their other lists, and
// the newest through this one.
func TestFullList(t *testing.T) {
	x := newIndex(t, redisrig.Client(t, redisserver.Addr(t)), redisrig.Config(redisrig.Standard))
	const dropped = 3
	claims := fullList(dropped)
	_, err := x.Claim(t.Context(), claims[:keyspace.MaxMembers])
	require.NoError(t, err)
	require.Zero(t, counted(x.metrics.full))
	_, err = x.Claim(t.Context(), claims[keyspace.MaxMembers:])
	require.NoError(t, err)
	require.Equal(t, dropped, counted(x.metrics.full))
	for i, c := range claims {
		elsewhere := redisrig.Article(1_000_000+i, c.Fingerprint^1<<60) // another value of the block in common
		here := redisrig.Article(2_000_000+i, c.Fingerprint^(1<<40|1<<24|1<<8))
		for _, copied := range []struct {
			article.Article
			found bool
		}{{elsewhere, true}, {here, i >= dropped}} {
			if i < 2*dropped || i >= keyspace.MaxMembers {
				advice, err := x.Advise(t.Context(), &copied.Article)
				require.NoError(t, err)
				require.Equal(t, copied.found, advice.Verdict.Original.ID == c.ID, "article %d, %s", i,
					copied.Fingerprint)
			}
		}
	}
}

// Hashes of block lists must be hash tables from the start. Redis searches a listpack from the front, which
// makes every look-up in a young index slow.
func TestListsAreHashTables(t *testing.T) {
	client := redisrig.Client(t, redisserver.Start(t, "--hash-max-listpack-value",
		strconv.Itoa(connection.ListpackBytes)).Addr)
	x := newIndex(t, client, redisrig.Config(redisrig.Standard))
	claimOne(t, x, redisrig.Article(1, 5))
	keys := client.Keys(t.Context(), x.keys.Prefix+"b:*").Val()
	require.Len(t, keys, 4)
	for _, key := range keys {
		require.Equal(t, "hashtable", client.ObjectEncoding(t.Context(), key).Val(), key)
	}
}

// A set holds the fingerprints of a block value as signed decimal numbers, so that other programs can read
// it, and Redis keeps it as an intset.
func TestSetsCanBeRead(t *testing.T) {
	client := redisrig.Client(t, redisserver.Start(t, "--set-max-intset-entries", "2048").Addr)
	x := newIndex(t, client, redisrig.KindConfig(redisrig.Standard, keyspace.BucketsSets))
	a := redisrig.Article(1, 1<<63|0xff)
	a.Anchors = []uint64{0xabcd << 48, 0x1234 << 48}
	claimOne(t, x, a)
	prefix := x.keys.Prefix + "s:" + strconv.FormatInt(x.keys.Layout.Slice(keyspace.WindowTime(a.Time)), 10)
	var keys []string
	for _, value := range []string{":0:8000", ":1:0", ":2:0", ":3:ff", ":4:1579a", ":4:2468"} {
		keys = append(keys, prefix+value)
		fp := a.Fingerprint
		require.Equal(t, []string{strconv.FormatInt(int64(fp), 10)}, client.SMembers(t.Context(), prefix+value).Val(),
			value)
		require.Equal(t, "intset", client.ObjectEncoding(t.Context(), prefix+value).Val())
	}
	require.ElementsMatch(t, keys, client.Keys(t.Context(), x.keys.Prefix+"s:*").Val())
	require.Empty(t, client.Keys(t.Context(), x.keys.Prefix+"b:*").Val())
}

// Of a set that is too long only keyspace.MaxMembers members are read. Look-ups in other sets still find all articles.
func TestLongSet(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		x := newIndex(t, redisrig.Client(t, addr), redisrig.KindConfig(redisrig.Standard, keyspace.BucketsSets))
		claims := fullList(100)
		verdicts, err := x.Claim(t.Context(), claims)
		require.NoError(t, err)
		before := counted(x.metrics.members)
		again, err := x.Claim(t.Context(), claims)
		require.NoError(t, err)
		require.Equal(t, verdicts, again)
		require.Equal(t, before, counted(x.metrics.members), "replays look up nothing")
		last := claims[len(claims)-1]
		copied := redisrig.Article(1_000_000, last.Fingerprint^1<<60)
		require.Equal(t, last.ID, claimOne(t, x, copied).Original.ID, "its other blocks find it")
		copied = redisrig.Article(1_000_001, last.Fingerprint^1)
		claimOne(t, x, copied)
		require.LessOrEqual(t, counted(x.metrics.members)-before, keyspace.MaxMembers+50,
			"of one long set and seven short ones")
	})
}

// Members that another program wrote are ignored.
func TestForeignMembers(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	x := newIndex(t, client, redisrig.KindConfig(redisrig.Standard, keyspace.BucketsSets))
	a := redisrig.Article(1, 0xff)
	g := x.entryOf(a).Slice
	for _, block := range x.keys.Layout.Plan.AppendStored(nil, &article.Article{Fingerprint: a.Fingerprint}) {
		require.NoError(t, client.SAdd(t.Context(), x.keys.List(keyspace.ListRef{Slice: g, Block: block.Index,
			Value: block.Value}), "hello", "1e3", "99999999999999999999", "").Err())
	}
	claimOne(t, x, a)
	require.Equal(t, a.Coordinates, claimOne(t, x, redisrig.Article(2, 0xfe)).Original.Coordinates)
}

// Packed lists and sets are two separate indexes. With sets, block values have 16 bits, unless they would
// overlap or redis.block_bits is set.
func TestKindsNeverMeet(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	cfg := redisrig.Config(redisrig.Standard)
	cfg.BlockBits = 16
	first := redisrig.Article(1, 5)
	for n, buckets := range []string{keyspace.BucketsPacked, keyspace.BucketsSets} {
		cfg.Buckets = buckets
		for i, want := range []article.Kind{article.Unique, article.Exact} {
			c := redisrig.Article(10*n+i, 5)
			c.Digest = first.Digest
			require.Equal(t, want, claimOne(t, newIndex(t, client, cfg), c).Kind, buckets)
		}
	}
	cfg.BlockBits = 0
	cfg.ExpectedArticles = 20_000
	require.Equal(t, 16, cfg.Plan().Layout.Width(0))
	cfg.Blocks = 8
	require.Equal(t, 8, cfg.Plan().Layout.Width(0))
	cfg.BlockBits = 20
	require.Equal(t, 20, cfg.Plan().Layout.Width(0))
}

// A claim may reach into more slices than an index remembers. It still looks up in all of them, and ends.
func TestClaimOverManySlices(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	cfg := redisrig.Config(indextest.Params{Window: time.Minute, Slices: 2, MaxDistance: 3})
	originals, copies := make([]article.Article, maxKnownSlices+100), make([]article.Article, maxKnownSlices+100)
	for i := range originals {
		originals[i] = redisrig.Article(i, 0xff)
		originals[i].Time = originals[i].Time.Add(time.Duration(i) * 10 * time.Minute)
		copies[i] = redisrig.Article(len(originals)+i, 0xfe)
		copies[i].Time = originals[i].Time.Add(45 * time.Second) // in the next slice, or the one after
	}
	_, err := newIndex(t, client, cfg).Claim(t.Context(), originals)
	require.NoError(t, err)
	verdicts, err := newIndex(t, client, cfg).Claim(t.Context(), copies)
	require.NoError(t, err)
	for i, v := range verdicts {
		require.Equal(t, originals[i].Coordinates, v.Original.Coordinates)
	}
}

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
				cfg := redisrig.Config(indextest.Params{Window: time.Hour, Slices: 2, MaxDistance: 16, Blocks: 4,
					Probes: probes})
				cfg.BlockBits = width
				require.Equal(t, simhash.Layout{Count: 4, Bits: width}, cfg.Plan().Layout)
				want, err := memindex.New(memindex.Config{Window: cfg.Window, Slices: cfg.Slices,
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
