package redisindex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// keysOf returns the keys of the index by the class that their names begin with.
func keysOf(t testing.TB, x *Index, client redis.UniversalClient) map[string][]string {
	t.Helper()
	all, err := client.Keys(t.Context(), x.keys.prefix+"*").Result()
	require.NoError(t, err)
	classes := map[string][]string{}
	for _, key := range all {
		class, _, _ := strings.Cut(strings.TrimPrefix(key, x.keys.prefix), ":")
		classes[class] = append(classes[class], key)
	}
	return classes
}

// storedNow are n articles of now and their copies, which name them as originals.
func storedNow(n int) (originals, copies []article.Article) {
	for i := range n {
		a := newArticle(i, simhash.Fingerprint(i+1)*0x9E3779B97F4A7C15)
		a.Time = time.Now()
		b := newArticle(n+i, a.Fingerprint^1)
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
		bucketsPacked: {{"o", false}, {"b", false}, {"g", false}, {"seq", false}, {"life", false}, {"d", true}, {"r", true}},
		bucketsSets:   {{"o", false}, {"s", false}, {"g", false}, {"seq", false}, {"life", false}, {"d", true}, {"r", true}},
	}
	for _, buckets := range kinds {
		for _, test := range classes[buckets] {
			t.Run(buckets+" "+test.class, func(t *testing.T) {
				t.Parallel()
				client := newClient(t, redisserver.Start(t).Addr)
				w := watch(t, client, kindConfig(standard, buckets))
				w.Recall(nil)
				originals, copies := storedNow(60)
				damaged := newArticle(1000, 0xff)
				field := w.entryOf(damaged).field()
				if test.harmless { // these rows need keys of all classes
					require.NoError(t, client.HSet(t.Context(), w.keys.entries(field), field.name(), "hello").Err())
					claimOne(t, w.Index, damaged)
				}
				first, err := w.Claim(t.Context(), originals)
				require.NoError(t, err)
				refill, err := w.OpenRefill(t.Context(), "outputs", false)
				require.NoError(t, err)
				_, _, err = refill.Take(t.Context(), "part", 0)
				require.NoError(t, err)
				require.NoError(t, refill.Note(t.Context(), "part", Range{0, 7}))
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
					w.requireLoss(t, lossMissing)
					require.Equal(t, 1, w.counted(lossMissing))
					return
				}
				w.waitRound(t)
				require.Zero(t, w.counted(lossMissing))
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

// A tenth of the entries is enough for a running service to notice.
func TestPartOfTheKeysIsDeleted(t *testing.T) {
	client := newClient(t, redisserver.Start(t).Addr)
	w := watch(t, client, testConfig(standard))
	w.Recall(nil)
	originals, _ := storedNow(400)
	_, err := w.Claim(t.Context(), originals)
	require.NoError(t, err)
	keys := keysOf(t, w.Index, client)["o"]
	require.NoError(t, client.Del(t.Context(), keys[:len(keys)/10]...).Err())
	w.requireLoss(t, lossMissing)
	_, lines := w.warns()
	require.Equal(t, 1, lines)
	require.Contains(t, w.log.String(), "lacking=[entries]")
}

// The entries were deleted while the service was stopped, so no number and no witness tells. The copies that come lead to fingerprints
// without entries, and the loss is noticed once.
func TestEntriesDeletedWhileTheServiceWasStopped(t *testing.T) {
	for _, buckets := range kinds {
		t.Run(buckets, func(t *testing.T) {
			client := newClient(t, redisserver.Start(t).Addr)
			cfg := kindConfig(standard, buckets)
			first := watch(t, client, cfg)
			first.Recall(nil)
			originals, copies := storedNow(2 * gapsLeast)
			_, err := first.Claim(t.Context(), originals)
			require.NoError(t, err)
			first.waitRound(t)
			note := first.Note()
			first.stop()
			require.NoError(t, client.Del(t.Context(), keysOf(t, first.Index, client)["o"]...).Err())

			second := watch(t, client, cfg)
			second.Recall([]string{note})
			second.requireNoLoss(t)
			verdicts, err := second.Claim(t.Context(), copies)
			require.NoError(t, err)
			require.Equal(t, article.Unique, verdicts[0].Kind)
			require.Equal(t, len(copies), counted(second.metrics.missing))
			second.requireLoss(t, lossMissing)
			require.Equal(t, 1, second.counted(lossMissing))
		})
	}
}

// A loss that is known explains candidates without entries for as long as lists can lead to lost entries.
func TestTracesOfAKnownLoss(t *testing.T) {
	client := newClient(t, redisserver.Start(t).Addr)
	x := newIndex(t, client, testConfig(standard))
	m := newMonitor(x, func(string, string) {})
	x.Recall(nil)
	noticed := func(before time.Duration) int {
		lost := fmt.Sprintf("%d missing", time.Now().Add(-before).UnixMilli())
		require.NoError(t, client.HSet(t.Context(), x.watermarks.markerKeys[0], "lost", lost).Err())
		m.checkLosses(t.Context())
		clear(m.noticed) // it was longer ago than lossQuiet
		x.gaps.read.Store(100)
		x.gaps.missing.Store(100)
		m.checkLosses(t.Context())
		return int(testutil.ToFloat64(x.monitorMetrics.losses.WithLabelValues(lossMissing)))
	}
	m.checkLosses(t.Context()) // loads the scripts
	require.Zero(t, noticed(x.layout.lifetime-time.Minute))
	require.Equal(t, 1, noticed(x.layout.lifetime+time.Minute))
}

// A witness speaks only as long as its keys cannot have expired, and the sample stays small and spread over the lifetime of the keys.
func TestWitnessesAreASample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witnesses{}
		const lifetime = 100 * time.Second
		for n := range 20_000 {
			w.add(time.Now(), lifetime, fieldRef{fingerprint: simhash.Fingerprint(n)}, func() []listRef { return nil })
			require.LessOrEqual(t, len(w.kept), witnessesKept)
			time.Sleep(10 * time.Millisecond)
		}
		kept := w.some(witnessesKept, time.Now())
		require.Greater(t, len(kept), witnessesKept/4)
		thirds := [3]int{}
		for _, k := range kept {
			left := time.Until(k.until)
			require.Positive(t, left)
			require.LessOrEqual(t, left, lifetime)
			thirds[min(2, int(3*left/lifetime))]++
		}
		for _, n := range thirds {
			require.Greater(t, n, len(kept)/5, fmt.Sprint(thirds))
		}
		require.Len(t, w.some(witnessesRound, time.Now()), witnessesRound)
		time.Sleep(lifetime)
		require.Empty(t, w.some(witnessesKept, time.Now()))
	})
}
