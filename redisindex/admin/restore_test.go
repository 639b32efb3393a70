package admin

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

func startRestore(t *testing.T, x *redisindex.Index) *Restorer {
	t.Helper()
	r, err := New(x).StartRestore(t.Context(), time.Now())
	require.NoError(t, err)
	return r
}

func restoreOne(t *testing.T, r *Restorer, a article.Article, v article.Verdict) Restored {
	t.Helper()
	return restoreAll(t, r, []article.Article{a}, []article.Verdict{v})[0]
}

func restoreAll(t *testing.T, r *Restorer, all []article.Article, verdicts []article.Verdict) []Restored {
	t.Helper()
	published := make([]Published, len(all))
	for i, a := range all {
		published[i] = Published{Article: a, Verdict: verdicts[i]}
	}
	outcomes, err := r.Restore(t.Context(), published)
	require.NoError(t, err)
	return outcomes
}

func TestRestore(t *testing.T) {
	redisrig.OnKinds(t, func(t *testing.T, addr, buckets string) {
		client := redisrig.Client(t, addr)
		testRestore(t, client, indexrig.New(t, client, redisrig.KindConfig(redisrig.Standard, buckets)))
	})
}

func testRestore(t *testing.T, client redis.UniversalClient, x *redisindex.Index) {
	original, copied, second := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF1), redisrig.Article(3, 0xF1)
	second.Digest, second.Time = copied.Digest, second.Time.Add(time.Second) // an exact repeat of the copy
	alone := redisrig.Article(4, 0xABCDEF0123456789)
	all := []article.Article{original, copied, second, alone}
	published, err := x.Claim(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, article.Exact, published[2].Kind)
	require.NoError(t, New(x).Remove(t.Context()))
	require.Empty(t, client.Keys(t.Context(), x.Keys().Prefix+"*").Val())

	live := redisrig.Article(5, alone.Fingerprint) // the same text comes before its restored original
	live.Digest = alone.Digest
	require.Equal(t, article.Unique, indexrig.ClaimOne(t, x, live).Kind)

	r := startRestore(t, x)
	require.Equal(t, RestoredNew, restoreOne(t, r, second, published[2]), "before its original")
	require.Equal(t, []Restored{RestoredNew, RestoredHidden, RestoredHeld, RestoredHidden},
		restoreAll(t, r, all, published))
	require.Equal(t, []Restored{RestoredHeld, RestoredHeld, RestoredHeld, RestoredHeld},
		restoreAll(t, r, all, published), "it is idempotent")

	replayed, err := x.Claim(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, published, replayed)
	require.Equal(t, article.Verdict{Kind: article.Unique, Root: live.Ref()}, indexrig.ClaimOne(t, x, live))

	later := redisrig.Article(6, 0xF0^1<<60)
	v := indexrig.ClaimOne(t, x, later)
	require.Equal(t, article.Near, v.Kind)
	require.Equal(t, original.Ref(), v.Original, "the earliest by time, not by the order of the refill")
	near := redisrig.Article(7, alone.Fingerprint^1)
	require.Equal(t, live.Ref(), indexrig.ClaimOne(t, x, near).Original, "a hidden entry is no original")
	require.Equal(t, RestoredDiffers, restoreOne(t, r, live,
		article.Verdict{Kind: article.Exact, Reason: article.ReasonDigest, Original: alone.Ref(), Root: alone.Ref()}))
	require.Equal(t, live.Ref(), indexrig.ClaimOne(t, x, live).Root, "a verdict stays")
}

func TestRestoreOverflow(t *testing.T) {
	client := redisrig.Client(t, miniredis.RunT(t).Addr())
	x := indexrig.New(t, client, redisrig.Config(redisrig.Standard))
	var all []article.Article
	var published []article.Verdict
	for n := range keyspace.MaxEntries + 2 {
		a := redisrig.Article(n, 0xF0)
		all = append(all, a)
		published = append(published, article.Verdict{Kind: article.Unique, Root: a.Ref()})
	}
	r := startRestore(t, x)
	for range 2 {
		restoreAll(t, r, all, published)
		replayed, err := x.Claim(t.Context(), all)
		require.NoError(t, err)
		require.Equal(t, published, replayed)
	}
	repeat := redisrig.Article(99, 0xF0) // of an overflow entry
	repeat.Digest = all[len(all)-1].Digest
	require.Equal(t, all[len(all)-1].Ref(), indexrig.ClaimOne(t, x, repeat).Original)
}

// A refill mends an index into which another program has written, however many entries it has damaged.
func TestRestoreSetsDamageAside(t *testing.T) {
	client := redisrig.Client(t, miniredis.RunT(t).Addr())
	x := indexrig.New(t, client, redisrig.Config(redisrig.Standard))
	var all []article.Article
	for n := range 60 {
		all = append(all, redisrig.Article(n, simhash.Fingerprint(n)*0x9E3779B97F4A7C15))
	}
	published, err := x.Claim(t.Context(), all)
	require.NoError(t, err)
	for _, key := range client.Keys(t.Context(), x.Keys().Prefix+"o:*").Val() {
		for _, field := range client.HKeys(t.Context(), key).Val() {
			require.NoError(t, client.HSet(t.Context(), key, field, "damage").Err())
		}
	}
	restoreAll(t, startRestore(t, x), all, published)
	replayed, err := x.Claim(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, published, replayed)
}
