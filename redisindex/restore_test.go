package redisindex

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/test/redisrig"
)

// Restore restores articles by package admin, which the tests of this package cannot import: tests beside it
// set the function. It returns the outcome for each article.
var Restore func(ctx context.Context, x *Index, now time.Time, articles []article.Article,
	verdicts []article.Verdict) (outcomes []string, err error)

// restoredAt is the time of refills in schedules. Times of articles are above it, so their tickets are equal
// and coordinates decide.
var restoredAt = time.UnixMilli(1000)

// restored counts the outcomes of a worker that has restored articles.
func (w *world) restored(k *worker) {
	for i, number := range k.call {
		w.seen[k.outcomes[i]]++
		w.lost = slices.DeleteFunc(w.lost, func(n int) bool { return n == number })
	}
}

// badRoot says which copy has a root that is no unique article; "" if none has. Chains of originals say less
// here: a record that is delivered again after the loss may get another verdict, and be in the middle of a
// chain that was published before.
func (w *world) badRoot(final map[article.Coordinates]article.Verdict) string {
	for i, c := range w.claims {
		v := final[c.Coordinates]
		if root := final[v.Root.Coordinates]; !slices.Contains(w.gone, i) && (root.Kind == 0 || root.Kind.IsCopy()) {
			return fmt.Sprintf("%v has the root %v, which has the verdict %v", c.Coordinates, v.Root, root.Kind)
		}
	}
	return ""
}

// loseMemory gives the articles of the schedule their verdicts, and then flushes Redis. Records that were not
// committed are delivered again. The others are restored if their originals and roots were committed.
func (w *world) loseMemory(t *testing.T, client redis.UniversalClient) {
	w.forgot = true
	x := newIndex(t, client, w.cfg)
	published := map[article.Coordinates]article.Verdict{}
	for i, c := range w.claims {
		w.verdicts[i] = []article.Verdict{claimOne(t, x, c)}
		published[c.Coordinates] = w.verdicts[i][0]
	}
	require.NoError(t, client.FlushDB(t.Context()).Err())
	// a flush leaves them, except in miniredis
	require.NoError(t, connection.NewSession(client, "", scripts...).EnsureScripts(t.Context()))
	committed := map[article.Coordinates]bool{}
	for _, c := range w.claims {
		committed[c.Coordinates] = w.r.IntN(3) > 0
	}
	for i, c := range w.claims {
		v := w.verdicts[i][0]
		if committed[c.Coordinates] && (v.Kind == article.Unique || committed[v.Original.Coordinates] &&
			committed[v.Root.Coordinates]) {
			w.lost = append(w.lost, i)
		} else {
			w.verdicts[i] = nil
			if committed[c.Coordinates] { // not restored and not delivered again: its verdict stays, and nobody sees it
				w.verdicts[i] = []article.Verdict{published[c.Coordinates]}
				w.gone = append(w.gone, i)
			}
		}
	}
}

// TestInterleavingRestore restores lost articles while workers claim new ones and articles that were not
// committed. See TestInterleaving. A replay of a restored article must get its first verdict, and the root of
// every copy must be unique. Copies may pass.
func TestInterleavingRestore(t *testing.T) {
	schedules, seed := interleavings(t)
	for _, buckets := range redisrig.Kinds {
		t.Run(buckets, func(t *testing.T) {
			addr := redisrig.Own(t) // schedules flush it
			flusher := redisrig.Client(t, addr)
			var clients []*steppedClient
			for range 4 {
				clients = append(clients, newSteppedClient(redisrig.Client(t, addr)))
			}
			seen := map[string]int{}
			for i := range schedules {
				problem := restoreSchedule(t, flusher, clients, seed+uint64(i), buckets, seen)
				require.Empty(t, problem, "seed %d", seed+uint64(i))
			}
			t.Logf("seed %d, %d schedules: %v", seed, schedules, seen)
			for _, what := range []string{"crashes", "new", "held", "hidden", "near", "chains", "joined"} {
				require.True(t, seen[what] > 0 || schedules < 100, "no schedule had %s", what)
			}
			require.Zero(t, seen["differs"])
		})
	}
}

func restoreSchedule(t *testing.T, client redis.UniversalClient, clients []*steppedClient, seed uint64,
	buckets string, seen map[string]int) string {
	w, _ := newWorld(t, clients, seed, buckets, seen)
	w.loseMemory(t, client)
	old := len(w.claims)
	w.articles(w.r.IntN(3), true)
	for i := range w.claims[old:] { // number and text of new articles
		c := &w.claims[old+i]
		c.Offset, c.ID = int64(old+i), fmt.Sprint(old+i)
		if w.patient {
			c.Partition = int32(old + i)
		}
		if w.r.IntN(2) == 0 {
			copy(c.Digest[:], c.ID)
		}
	}
	w.verdicts = append(w.verdicts, make([][]article.Verdict, len(w.claims)-old)...)
	restored := slices.Clone(w.lost)
	if problem := w.schedule(t, false); problem != "" {
		return problem
	}
	x := newIndex(t, client, w.cfg)
	x.keys.Layout.MaxEntries = w.indexes[clients[0]].keys.Layout.MaxEntries
	for _, i := range restored {
		if v := claimOne(t, x, w.claims[i]); v != w.verdicts[i][0] {
			return fmt.Sprintf("article %d was published as %+v, and a replay gets %+v", i, w.verdicts[i][0], v)
		}
	}
	for i := range w.claims {
		if v := w.verdicts[i][0]; v.Kind.IsCopy() && !slices.Contains(restored, i) &&
			slices.ContainsFunc(restored,
				func(n int) bool { return w.claims[n].Coordinates == v.Original.Coordinates }) {
			seen["joined"]++ // a new copy of a restored article
		}
	}
	return ""
}

// A worker has stored an entry and not decided it. A refill writes the published verdict.
func TestRestoreDecidesForAnother(t *testing.T) {
	x := onMini(t)
	original, copied := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF1)
	claimOne(t, x, original)
	b := newClaim(newCall(x, []article.Article{copied}))
	steps := b.steps()
	advance(t, steps[:2]...)
	published := article.Verdict{Kind: article.Unique, Root: copied.Ref()}
	outcomes, err := Restore(t.Context(), x, time.Now(), []article.Article{copied}, []article.Verdict{published})
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, outcomes)
	advance(t, steps[2:]...)
	require.Equal(t, published, b.verdicts()[0])
}
