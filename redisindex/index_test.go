package redisindex

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// servers are the kinds of server that the tests run on. Each start returns an address.
var servers = []struct {
	name  string
	start func(t testing.TB) string
}{
	{"Mini", func(t testing.TB) string { return miniredis.RunT(t).Addr() }},
	{"Real", redisserver.Addr},
	{"Lua54", startLua54},
}

func newClient(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	o := DefaultOptions()
	o.Addrs, o.Timeout = []string{addr}, 30*time.Second // a crowded machine takes its time
	return connect(t, o)
}

// testConfig returns a configuration whose namespace no other test uses.
func testConfig(p indextest.Params) Config {
	cfg := DefaultConfig()
	cfg.Namespace = fmt.Sprintf("test-%x", time.Now().UnixNano())
	cfg.Window, cfg.Generations, cfg.Search, cfg.Policy = p.Window, p.Generations, p.Search(), p.Policy
	return cfg
}

func newIndex(t testing.TB, client redis.UniversalClient, cfg Config) *Index {
	t.Helper()
	x, err := New(client, cfg, nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	return x
}

// kinds are the values of redis.buckets, by the suffix of the names of tests that run with each of them.
var kinds = map[string]string{"": bucketsPacked, "Sets": bucketsSets}

// kindConfig is testConfig with a value of redis.buckets.
func kindConfig(p indextest.Params, buckets string) Config {
	cfg := testConfig(p)
	cfg.Buckets = buckets
	return cfg
}

// leftToReal says that a long suite leaves out sets on servers that are not real. The suite then runs with sets on a real server, which needs less
// than a third of this process' CPU time under the race detector. With -short there are no real servers.
func leftToReal(server, buckets string) bool {
	return !testing.Short() && server != "Real" && buckets == bucketsSets
}

// onServers runs a test on each kind of server, with each value of redis.buckets. addr is that of a server which has no data yet.
func onServers(t *testing.T, run func(t *testing.T, addr, buckets string)) {
	t.Helper()
	for _, server := range servers {
		for suffix, buckets := range kinds {
			if !leftToReal(server.name, buckets) {
				t.Run(server.name+suffix, func(t *testing.T) { run(t, server.start(t), buckets) })
			}
		}
	}
}

func TestContract(t *testing.T) {
	onServers(t, func(t *testing.T, addr, buckets string) {
		client := newClient(t, addr)
		indextest.Run(t, func(t *testing.T, p indextest.Params) pipeline.Index {
			return newIndex(t, client, kindConfig(p, buckets))
		})
	})
}

var standard = indextest.Params{Window: time.Hour, Generations: 2, MaxDistance: 3}

// newArticle makes article number n, at a fixed time.
func newArticle(n int, fp simhash.Fingerprint) article.Article {
	c := article.Article{
		Coordinates: article.Coordinates{Topic: "t", Offset: int64(n)}, ID: fmt.Sprint(n),
		Time: time.UnixMilli(1_700_000_000_000), Fingerprint: fp,
	}
	copy(c.Digest[:], fmt.Sprint(n))
	return c
}

// entryOf is the entry that the index makes of an article.
func (x *Index) entryOf(a article.Article) *entry {
	return &entry{Article: a, span: x.layout.span(windowTime(a.Time))}
}

func claimOne(t testing.TB, x *Index, c article.Article) article.Verdict {
	t.Helper()
	m, err := x.Claim(t.Context(), []article.Article{c})
	require.NoError(t, err)
	return m[0]
}

func TestEveryKeyExpires(t *testing.T) {
	for _, server := range servers {
		for suffix, buckets := range kinds {
			t.Run(server.name+suffix, func(t *testing.T) { everyKeyExpires(t, newClient(t, server.start(t)), buckets) })
		}
	}
}

func everyKeyExpires(t *testing.T, client redis.UniversalClient, buckets string) {
	cfg := kindConfig(standard, buckets)
	x := newIndex(t, client, cfg)
	start := time.Now()
	kinds := map[string]bool{}
	check := func() (keys int) {
		for _, key := range client.Keys(t.Context(), cfg.Namespace+":*").Val() {
			ttl := client.TTL(t.Context(), key).Val()
			require.GreaterOrEqual(t, ttl+time.Since(start), cfg.Window+cfg.Window/2, key)
			require.LessOrEqual(t, ttl, 3*cfg.Window+time.Minute, key)
			kinds[strings.Split(key, ":")[2]] = true
			keys++
		}
		return keys
	}
	for n := range 20 {
		claimOne(t, x, newArticle(n, simhash.Fingerprint(n)*0x123456789abcdef1))
		if n == 0 { // also keys that are written only once
			require.Positive(t, check())
		}
	}
	require.Greater(t, check(), 30)
	lists := map[string]string{bucketsPacked: "b", bucketsSets: "s"}[buckets]
	require.Equal(t, map[string]bool{lists: true, "o": true, "g": true, "seq": true}, kinds)
}

func TestScriptsAreLoadedAgain(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			x := newIndex(t, client, testConfig(standard))
			want := claimOne(t, x, newArticle(1, 1))
			require.NoError(t, client.ScriptFlush(t.Context()).Err())
			require.Equal(t, want, claimOne(t, x, newArticle(1, 1)))
			require.Equal(t, article.Near, claimOne(t, x, newArticle(2, 1)).Kind)
		})
	}
}

// Redis loses the entry of an article after a copy named the article as its original. The article must not become a copy of that copy.
func TestLostOriginalStaysUnique(t *testing.T) {
	client := newClient(t, miniredis.RunT(t).Addr())
	x := newIndex(t, client, testConfig(standard))
	a, b := newArticle(1, 0xff), newArticle(2, 0xfe)
	require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
	require.Equal(t, a.Coordinates, claimOne(t, x, b).Original.Coordinates)
	field := x.entryOf(a).field()
	require.EqualValues(t, 1, client.HDel(t.Context(), x.keys.entries(field), field.name()).Val())
	require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
}

// A worker died after it stored the article b. Then an exact repeat of b is claimed: its verdict depends on the verdict of b.
func TestRepeatOfUndecidedArticle(t *testing.T) {
	client := newClient(t, miniredis.RunT(t).Addr())
	x := newIndex(t, client, testConfig(standard))
	a, b, c := newArticle(1, 0xff), newArticle(2, 0xfe), newArticle(3, 0xfe)
	c.Digest = b.Digest
	require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
	require.NoError(t, newBatch(x, []article.Article{b}, newCall(x, nil)).storeEntries(t.Context()))
	refA, refB := article.Ref{ID: a.ID, Coordinates: a.Coordinates}, article.Ref{ID: b.ID, Coordinates: b.Coordinates}
	want := article.ExactVerdict(refB, refA)
	require.Equal(t, want, claimOne(t, x, c))
	require.Equal(t, article.Verdict{Kind: article.Near, Reason: article.ReasonDistance, Original: refA, Root: refA, Distance: 1, Destination: article.ToDuplicate}, claimOne(t, x, b))
	require.Equal(t, want, claimOne(t, x, c), "replay")
}

func TestWaitsForRedis(t *testing.T) {
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := newClient(t, server.Addr)
	waits, was := map[fmt.Stringer]error{}, 0
	down := make(chan struct{})
	noticed := sync.OnceFunc(func() { close(down) })
	reg := prometheus.NewRegistry()
	x, err := New(client, testConfig(standard), reg, slog.New(slog.DiscardHandler), func(component string, call fmt.Stringer, err error) {
		require.Equal(t, "redis", component)
		if err == nil {
			delete(waits, call)
			return
		}
		waits[call], was = err, was+1
		require.Equal(t, "verdicts of 1 articles from t/0/1 on", call.String())
		noticed()
	})
	require.NoError(t, err)
	want := claimOne(t, x, newArticle(1, 1))
	require.Zero(t, was)
	server.Kill()
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		<-down
		server.Restart()
	}()
	require.Equal(t, want, claimOne(t, x, newArticle(1, 1)))
	<-restarted
	require.Positive(t, was)
	require.Empty(t, waits)
	families, err := reg.Gather()
	require.NoError(t, err)
	errorsSeen := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "echosieve_redisindex_errors_total" {
				errorsSeen[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	require.Positive(t, errorsSeen["connection"])
	require.Zero(t, errorsSeen["other"])
}

// Whatever timestamps records have, every key expires, a look-up visits only the spans within a window of its article, and each article
// needs only a few keys. So nobody can make the index grow faster than by publishing articles.
func TestHostileTimestamps(t *testing.T) {
	client := newClient(t, redisserver.Addr(t))
	cfg := testConfig(standard)
	x := newIndex(t, client, cfg)
	stamps := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64, time.Now().Add(1e6 * time.Hour).UnixMilli()}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		stamps = append(stamps, int64(random.Uint64()))
	}
	claims := make([]article.Article, len(stamps))
	for i, ms := range stamps {
		claims[i] = newArticle(i, simhash.Fingerprint(random.Uint64()))
		claims[i].Time = time.UnixMilli(ms)
		first, last := x.layout.reach(windowTime(claims[i].Time))
		require.LessOrEqual(t, last-first, int64(2*cfg.Generations+1))
	}
	verdicts, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	for _, v := range verdicts {
		require.Equal(t, article.Unique, v.Kind)
	}
	again, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, verdicts, again, "a replay gets the same verdicts")

	keys := client.Scan(t.Context(), 0, cfg.Namespace+":*", 1000).Iterator()
	n := 0
	for keys.Next(t.Context()) {
		n++
		ttl, err := client.TTL(t.Context(), keys.Val()).Result()
		require.NoError(t, err)
		require.Positive(t, ttl, keys.Val())
		require.LessOrEqual(t, ttl, 2*x.layout.lifetime, keys.Val())
	}
	require.NoError(t, keys.Err())
	blocks := cfg.Blocks
	require.Greater(t, n, len(stamps))
	require.LessOrEqual(t, n, len(stamps)*(blocks+2)+1)
}

func counted(c prometheus.Counter) int {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return int(m.GetCounter().GetValue())
}
