package redisindex

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// restoreCeiling is the ceiling in schedules. Times of articles are above it, so their tickets are equal and coordinates decide.
const restoreCeiling = 1000

// restored notes the outcomes of a worker that has restored articles.
func (w *world) restored(k *worker) {
	for i, number := range k.call {
		w.seen[[]string{"new", "held", "hidden", "differs"}[k.outcomes[i]]]++
		w.lost = slices.DeleteFunc(w.lost, func(n int) bool { return n == number })
	}
}

// badRoot says which copy has a root that is no unique article; "" if none has. Chains of originals say less here: a record that is
// delivered again after the loss may get another verdict, and be in the middle of a chain that was published before.
func (w *world) badRoot(final map[article.Coordinates]article.Verdict) string {
	for i, c := range w.claims {
		v := final[c.Coordinates]
		if root := final[v.Root.Coordinates]; !slices.Contains(w.gone, i) && (root.Kind == 0 || root.Kind.IsCopy()) {
			return fmt.Sprintf("%v has the root %v, which has the verdict %v", c.Coordinates, v.Root, root.Kind)
		}
	}
	return ""
}

// loseMemory gives the articles of the schedule their verdicts, and then flushes Redis. Records that were not committed are delivered
// again. The others are restored if their originals and roots were committed.
func (w *world) loseMemory(t *testing.T, client redis.UniversalClient) {
	w.forgot = true
	x := newIndex(t, client, w.cfg)
	published := map[article.Coordinates]article.Verdict{}
	for i, c := range w.claims {
		w.verdicts[i] = []article.Verdict{claimOne(t, x, c)}
		published[c.Coordinates] = w.verdicts[i][0]
	}
	require.NoError(t, client.FlushDB(t.Context()).Err())
	require.NoError(t, client.IncrBy(t.Context(), x.keys.sequence(), restoreCeiling).Err())
	require.NoError(t, loadScripts(t.Context(), client)) // a flush leaves them, except in miniredis
	committed := map[article.Coordinates]bool{}
	for _, c := range w.claims {
		committed[c.Coordinates] = w.r.IntN(3) > 0
	}
	for i, c := range w.claims {
		v := w.verdicts[i][0]
		if committed[c.Coordinates] && (v.Kind == article.Unique || committed[v.Original.Coordinates] && committed[v.Root.Coordinates]) {
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

// TestInterleavingRestore restores lost articles while workers claim new ones and articles that were not committed. See TestInterleaving.
// A replay of a restored article must get its first verdict, and the root of every copy must be unique. Copies may pass.
func TestInterleavingRestore(t *testing.T) {
	schedules, seed := interleavings(t)
	for suffix, buckets := range kinds {
		if leftToReal("Mini", buckets) {
			continue
		}
		t.Run("Mini"+suffix, func(t *testing.T) {
			addr := miniredis.RunT(t).Addr()
			var clients []*steppedClient
			for range 4 {
				clients = append(clients, newSteppedClient(newClient(t, addr)))
			}
			seen := map[string]int{}
			for i := range schedules {
				problem := restoreSchedule(t, newClient(t, addr), clients, seed+uint64(i), buckets, seen)
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

func restoreSchedule(t *testing.T, client redis.UniversalClient, clients []*steppedClient, seed uint64, buckets string, seen map[string]int) string {
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
	x.maxEntries = w.indexes[clients[0]].maxEntries
	for _, i := range restored {
		if v := claimOne(t, x, w.claims[i]); v != w.verdicts[i][0] {
			return fmt.Sprintf("article %d was published as %+v, and a replay gets %+v", i, w.verdicts[i][0], v)
		}
	}
	for i := range w.claims {
		if v := w.verdicts[i][0]; v.Kind.IsCopy() && !slices.Contains(restored, i) &&
			slices.ContainsFunc(restored, func(n int) bool { return w.claims[n].Coordinates == v.Original.Coordinates }) {
			seen["joined"]++ // a new copy of a restored article
		}
	}
	return ""
}

func startRestore(t *testing.T, x *Index) *Restorer {
	t.Helper()
	r, err := x.StartRestore(t.Context())
	require.NoError(t, err)
	return r
}

func restoreOne(t *testing.T, r *Restorer, a article.Article, v article.Verdict) Restored {
	t.Helper()
	outcomes, err := r.Restore(t.Context(), []article.Article{a}, []article.Verdict{v})
	require.NoError(t, err)
	return outcomes[0]
}

func TestRestore(t *testing.T) {
	onServers(t, func(t *testing.T, addr, buckets string) {
		client := newClient(t, addr)
		testRestore(t, client, newIndex(t, client, kindConfig(standard, buckets)))
	})
}

func testRestore(t *testing.T, client redis.UniversalClient, x *Index) {
	original, copied, second := newArticle(1, 0xF0), newArticle(2, 0xF1), newArticle(3, 0xF1)
	second.Digest, second.Time = copied.Digest, second.Time.Add(time.Second) // an exact repeat of the copy
	alone := newArticle(4, 0xABCDEF0123456789)
	all := []article.Article{original, copied, second, alone}
	published, err := x.Claim(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, article.Exact, published[2].Kind)
	flush(t, client)

	live := newArticle(5, alone.Fingerprint) // the same text comes before its restored original
	live.Digest = alone.Digest
	require.Equal(t, article.Unique, claimOne(t, x, live).Kind)

	r := startRestore(t, x)
	require.Equal(t, RestoredNew, restoreOne(t, r, second, published[2]), "before its original")
	outcomes, err := r.Restore(t.Context(), all, published)
	require.NoError(t, err)
	require.Equal(t, []Restored{RestoredNew, RestoredHidden, RestoredHeld, RestoredHidden}, outcomes)
	outcomes, err = r.Restore(t.Context(), all, published)
	require.NoError(t, err)
	require.Equal(t, []Restored{RestoredHeld, RestoredHeld, RestoredHeld, RestoredHeld}, outcomes, "it is idempotent")

	replayed, err := x.Claim(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, published, replayed)
	require.Equal(t, article.Verdict{Kind: article.Unique, Root: live.Ref()}, claimOne(t, x, live))

	later := newArticle(6, 0xF0^1<<60)
	v := claimOne(t, x, later)
	require.Equal(t, article.Near, v.Kind)
	require.Equal(t, original.Ref(), v.Original, "the earliest by time, not by the order of the refill")
	near := newArticle(7, alone.Fingerprint^1)
	require.Equal(t, live.Ref(), claimOne(t, x, near).Original, "a hidden entry is no original")
	require.Equal(t, RestoredDiffers, restoreOne(t, r, live, article.Verdict{Kind: article.Exact, Reason: article.ReasonDigest, Original: alone.Ref(), Root: alone.Ref()}))
	require.Equal(t, live.Ref(), claimOne(t, x, live).Root, "a verdict stays")
}

// A worker has stored an entry and not decided it. A refill writes the published verdict.
func TestRestoreDecidesForAnother(t *testing.T) {
	client := newClient(t, miniredis.RunT(t).Addr())
	x := newIndex(t, client, standardConfig())
	original, copied := newArticle(1, 0xF0), newArticle(2, 0xF1)
	claimOne(t, x, original)
	b := newBatch(x, []article.Article{copied}, newCall(x, nil))
	require.NoError(t, b.storeLists(t.Context()))
	require.NoError(t, b.storeEntries(t.Context()))
	published := article.Verdict{Kind: article.Unique, Root: copied.Ref()}
	require.Equal(t, RestoredNew, restoreOne(t, startRestore(t, x), copied, published))
	for _, step := range []func() error{
		func() error { return b.drawTickets(t.Context()) }, func() error { return b.setTickets(t.Context()) },
		func() error { return b.lookUp(t.Context()) }, func() error { return b.fetchEntries(t.Context()) }, func() error { return b.decide(t.Context()) },
	} {
		require.NoError(t, step())
	}
	require.Equal(t, published, b.verdicts()[0])
}

func TestRestoreOverflow(t *testing.T) {
	client := newClient(t, miniredis.RunT(t).Addr())
	x := newIndex(t, client, standardConfig())
	x.maxEntries = 1
	var all []article.Article
	var published []article.Verdict
	for n := range 3 {
		a := newArticle(n, 0xF0)
		all = append(all, a)
		published = append(published, article.Verdict{Kind: article.Unique, Root: a.Ref()})
	}
	r := startRestore(t, x)
	for range 2 {
		_, err := r.Restore(t.Context(), all, published)
		require.NoError(t, err)
		replayed, err := x.Claim(t.Context(), all)
		require.NoError(t, err)
		require.Equal(t, published, replayed)
	}
	repeat := newArticle(9, 0xF0) // of an overflow entry
	repeat.Digest = all[2].Digest
	require.Equal(t, all[2].Ref(), claimOne(t, x, repeat).Original)
}

func standardConfig() Config { return testConfig(standard) }
