package redisindex

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// Whatever timestamps records carry, every key expires, a look visits only the generations within a window of its
// article, and an article keeps a handful of keys: nobody can grow the index faster than by publishing.
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
	matches, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	for _, m := range matches {
		require.Equal(t, article.Unique, m.Kind)
	}
	again, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, matches, again, "a replay gets the same answer")

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
