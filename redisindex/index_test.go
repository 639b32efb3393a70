package redisindex

import (
	"context"
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
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/internal/stopping"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

func newIndex(t testing.TB, client redis.UniversalClient, cfg keyspace.Config) *Index {
	t.Helper()
	x, err := New(client, cfg, nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	return x
}

// onMini returns an index with the standard parameters on a server in process.
func onMini(t testing.TB) *Index {
	t.Helper()
	return newIndex(t, redisrig.Client(t, miniredis.RunT(t).Addr()), redisrig.Config(redisrig.Standard))
}

// advance makes steps of a claim, which must succeed.
func advance(t testing.TB, steps ...func(context.Context) error) {
	t.Helper()
	for _, step := range steps {
		require.NoError(t, step(t.Context()))
	}
}

func TestContract(t *testing.T) {
	redisrig.OnKinds(t, func(t *testing.T, addr, buckets string) {
		client := redisrig.Client(t, addr)
		indextest.Run(t, func(t *testing.T, p indextest.Params) pipeline.Index {
			return newIndex(t, client, redisrig.KindConfig(p, buckets))
		})
	})
}

// entryOf is the entry that the index makes of an article.
func (x *Index) entryOf(a article.Article) *keyspace.Entry {
	return &keyspace.Entry{Article: a, Slice: x.keys.Layout.Slice(keyspace.WindowTime(a.Time))}
}

// claimOne has a time limit: with a bug, the index would try again without end.
func claimOne(t testing.TB, x *Index, c article.Article) article.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := x.Claim(ctx, []article.Article{c})
	require.NoError(t, err)
	return m[0]
}

func TestEveryKeyExpires(t *testing.T) {
	redisrig.OnKinds(t, func(t *testing.T, addr, buckets string) {
		everyKeyExpires(t, redisrig.Client(t, addr), buckets)
	})
}

func everyKeyExpires(t *testing.T, client redis.UniversalClient, buckets string) {
	cfg := redisrig.KindConfig(redisrig.Standard, buckets)
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
		claimOne(t, x, redisrig.Article(n, simhash.Fingerprint(n)*0x123456789abcdef1))
		if n == 0 { // also keys that are written only once
			require.Positive(t, check())
		}
	}
	keys := check()
	require.Greater(t, keys, 30)
	for _, key := range client.Keys(t.Context(), cfg.Namespace+":*").Val() {
		require.NoError(t, client.Expire(t.Context(), key, time.Minute).Err())
	}
	for n := range 20 { // a replay writes to every key again
		claimOne(t, x, redisrig.Article(n, simhash.Fingerprint(n)*0x123456789abcdef1))
	}
	require.Equal(t, keys, check())
	lists := map[string]string{keyspace.BucketsPacked: "b", keyspace.BucketsSets: "s"}[buckets]
	require.Equal(t, map[string]bool{lists: true, "o": true, "g": true, "seq": true}, kinds)
}

func TestScriptsAreLoadedAgain(t *testing.T) {
	client := redisrig.Client(t, redisrig.Own(t)) // other tests need their scripts
	x := newIndex(t, client, redisrig.Config(redisrig.Standard))
	want := claimOne(t, x, redisrig.Article(1, 1))
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	require.Equal(t, want, claimOne(t, x, redisrig.Article(1, 1)))
	require.Equal(t, article.Near, claimOne(t, x, redisrig.Article(2, 1)).Kind)
}

// Redis loses the entry of an article after a copy named the article as its original. The article must not
// become a copy of that copy.
func TestLostOriginalStaysUnique(t *testing.T) {
	x := onMini(t)
	a, b := redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
	require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
	require.Equal(t, a.Coordinates, claimOne(t, x, b).Original.Coordinates)
	field := x.entryOf(a).Field()
	require.EqualValues(t, 1, x.client.HDel(t.Context(), x.keys.Entries(field), field.Name()).Val())
	require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
}

func TestWaitsForRedis(t *testing.T) {
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := redisrig.Client(t, server.Addr)
	waits, was := map[fmt.Stringer]error{}, 0
	down := make(chan struct{})
	noticed := sync.OnceFunc(func() { close(down) })
	x, err := New(client, redisrig.Config(redisrig.Standard), nil, slog.New(slog.DiscardHandler),
		func(component string, call fmt.Stringer, err error) {
			require.Equal(t, "redis", component)
			if err == nil {
				delete(waits, call)
				return
			}
			waits[call], was = err, was+1
			require.Contains(t, call.String(), "verdicts from t/0/")
			noticed()
		})
	require.NoError(t, err)
	want := claimOne(t, x, redisrig.Article(1, 1))
	require.Zero(t, was)
	server.Kill()
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		<-down
		server.Restart()
	}()
	require.Equal(t, want, claimOne(t, x, redisrig.Article(1, 1)))
	<-restarted
	require.Positive(t, was)
	require.Empty(t, waits)

	// The process stops while Redis is away: the claim gives up, although its own context goes on.
	process, stop := context.WithCancel(t.Context())
	down = make(chan struct{})
	noticed = sync.OnceFunc(func() { close(down) })
	server.Kill()
	go func() {
		<-down
		stop()
	}()
	_, err = x.Claim(stopping.With(t.Context(), process), []article.Article{redisrig.Article(1, 2)})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, waits)
	require.Positive(t, counted(x.metrics.errors.WithLabelValues("connection")))
	require.Zero(t, counted(x.metrics.errors.WithLabelValues("other")))
}

// Whatever timestamps records have, every key expires, a look-up visits only the slices within a window of
// its article, and each article needs only a few keys. So nobody can make the index grow faster than by
// publishing articles.
func TestHostileTimestamps(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	cfg := redisrig.Config(redisrig.Standard)
	x := newIndex(t, client, cfg)
	stamps := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64,
		time.Now().Add(1e6 * time.Hour).UnixMilli()}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		stamps = append(stamps, int64(random.Uint64()))
	}
	claims := make([]article.Article, len(stamps))
	for i, ms := range stamps {
		claims[i] = redisrig.Article(i, simhash.Fingerprint(random.Uint64()))
		claims[i].Time = time.UnixMilli(ms)
		first, last := x.keys.Layout.Reach(keyspace.WindowTime(claims[i].Time))
		require.LessOrEqual(t, last-first, int64(2*cfg.Slices+1))
	}
	verdicts, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	for _, v := range verdicts {
		require.Equal(t, article.Unique, v.Kind)
	}
	again, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, verdicts, again, "a replay gets the same verdicts")

	keys := client.Keys(t.Context(), cfg.Namespace+":*").Val()
	for _, key := range keys {
		ttl := client.TTL(t.Context(), key).Val()
		require.Positive(t, ttl, key)
		require.LessOrEqual(t, ttl, 2*x.keys.Layout.Lifetime, key)
	}
	require.Greater(t, len(keys), len(stamps))
	require.LessOrEqual(t, len(keys), len(stamps)*(cfg.Blocks+2)+1)
}

func counted(c prometheus.Counter) int { return int(testutil.ToFloat64(c)) }
