package watch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/keyspace"
	"echosieve/redisindex/watch"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
	"echosieve/test/redisserver"
)

// keysOf returns the keys of the index by the class that their names begin with.
func keysOf(t testing.TB, x *redisindex.Index, client redis.UniversalClient) map[string][]string {
	t.Helper()
	all, err := client.Keys(t.Context(), x.Keys().Prefix+"*").Result()
	require.NoError(t, err)
	classes := map[string][]string{}
	for _, key := range all {
		class, _, _ := strings.Cut(strings.TrimPrefix(key, x.Keys().Prefix), ":")
		classes[class] = append(classes[class], key)
	}
	return classes
}

// storedNow are n articles of now and their copies, which name them as originals.
func storedNow(n int) (originals, copies []article.Article) {
	for i := range n {
		a := redisrig.Article(i, simhash.Fingerprint(i+1)*0x9E3779B97F4A7C15)
		a.Time = time.Now()
		b := redisrig.Article(n+i, a.Fingerprint^1)
		b.Time = a.Time
		originals, copies = append(originals, a), append(copies, b)
	}
	return originals, copies
}

// Whichever class of keys is deleted under a running service, the loss is noticed, or it changes no verdict.
func TestDeletedKeysAreNoticedOrHarmless(t *testing.T) {
	classes := map[string][]struct {
		class    string
		harmless bool
	}{
		keyspace.BucketsPacked: {{"o", false}, {"b", false}, {"g", false}, {"seq", false}, {"life", false},
			{"d", true}, {"r", true}},
		keyspace.BucketsSets: {{"o", false}, {"s", false}, {"g", false}, {"seq", false}, {"life", false},
			{"d", true}, {"r", true}},
	}
	for _, buckets := range redisrig.Kinds {
		for _, test := range classes[buckets] {
			t.Run(buckets+" "+test.class, func(t *testing.T) {
				t.Parallel()
				client := redisrig.Client(t, redisserver.Start(t).Addr)
				w := startWatched(t, client, redisrig.KindConfig(redisrig.Standard, buckets))
				w.Recall(nil)
				originals, copies := storedNow(60)
				damaged := redisrig.Article(1000, 0xff)
				field := fieldOf(w.Index, &damaged)
				if test.harmless { // these rows need keys of all classes
					require.NoError(t, client.HSet(t.Context(), w.Keys().Entries(field), field.Name(), "hello").Err())
					indexrig.ClaimOne(t, w.Index, damaged)
				}
				first, err := w.Claim(t.Context(), originals)
				require.NoError(t, err)
				refill, err := admin.New(w.Index).OpenRefill(t.Context(), "outputs", false)
				require.NoError(t, err)
				_, _, err = refill.Take(t.Context(), "part", 0)
				require.NoError(t, err)
				require.NoError(t, refill.Done(t.Context(), "part", admin.Range{From: 0, To: 7}))
				w.waitRound(t)
				found := keysOf(t, w.Index, client)
				for class := range found {
					require.True(t, slices.ContainsFunc(classes[buckets], func(c struct {
						class    string
						harmless bool
					},
					) bool {
						return c.class == class
					}), "keys of class %q have no row in this test", class)
				}
				require.NotEmpty(t, found[test.class])
				require.NoError(t, client.Del(t.Context(), found[test.class]...).Err())
				if !test.harmless {
					w.requireLoss(t, watch.LossMissing)
					require.Equal(t, 1, w.Counted(watch.LossMissing))
					return
				}
				w.waitRound(t)
				require.Zero(t, w.Counted(watch.LossMissing))
				again, err := w.Claim(t.Context(), originals)
				require.NoError(t, err)
				require.Equal(t, first, again)
				verdicts, err := w.Claim(t.Context(), copies)
				require.NoError(t, err)
				for i, v := range verdicts {
					require.Equal(t, originals[i].Coordinates, v.Original.Coordinates)
				}
			})
		}
	}
}
