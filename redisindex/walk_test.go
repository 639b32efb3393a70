package redisindex

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

func TestWalk(t *testing.T) {
	onServers(t, func(t *testing.T, addr, buckets string) {
		client := newClient(t, addr)
		testWalk(t, client, newIndex(t, client, kindConfig(standard, buckets)))
	})
}

func TestWalkDistributed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	for _, d := range distributed {
		t.Run(d.name, func(t *testing.T) {
			o := crowded(d.start(t))
			o.WaitReplicas = 1 // writes leave fences behind for a second, whose names begin like those of entries
			client := connect(t, o)
			testWalk(t, client, newIndex(t, client, testConfig(standard)))
			testHide(t, newIndex(t, client, testConfig(standard)))
			x := newIndex(t, client, testConfig(standard))
			original := newArticle(1, 0xF0)
			published := article.Verdict{Kind: article.Unique, Root: original.Ref()}
			require.Equal(t, RestoredNew, restoreOne(t, startRestore(t, x), original, published))
			require.Equal(t, published, claimOne(t, x, original))
		})
	}
}

// walked is what a walk finds.
type walked struct {
	articles map[article.Coordinates]StoredArticle
	lists    int
	listed   int // fingerprints in lists
	missing  int
	unlisted []StoredArticle
	damaged  int
}

func walk(t *testing.T, x *Index) walked {
	t.Helper()
	w := walked{articles: map[article.Coordinates]StoredArticle{}}
	seen := int64(0)
	require.NoError(t, x.Walk(t.Context(), func(keys, _ int64) { seen += keys }, func(k Keys) error {
		found, damaged, err := k.Articles(t.Context())
		require.NoError(t, err)
		w.damaged += damaged
		bytes, err := k.Bytes(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(found) > 0, bytes[KeyEntries] > 0)
		for _, s := range found {
			w.articles[s.Coordinates] = s
		}
		unlisted, err := x.Unlisted(t.Context(), found)
		require.NoError(t, err)
		w.unlisted = append(w.unlisted, unlisted...)
		return k.Lists(t.Context(), func(lists []List) error {
			w.lists += len(lists)
			for _, l := range lists {
				w.listed += len(l.Fingerprints)
			}
			missing, err := x.Missing(t.Context(), lists)
			w.missing += missing
			return err
		})
	}))
	require.Positive(t, seen)
	return w
}

func testWalk(t *testing.T, client redis.UniversalClient, x *Index) {
	other := newIndex(t, client, testConfig(standard))
	claimOne(t, other, newArticle(99, 0xFFFF<<40))
	const n = 300
	for i := range n {
		claimOne(t, x, newArticle(i, random64(i)))
	}
	little := newArticle(n, random64(n))
	little.LittleText = true
	claimOne(t, x, little)

	w := walk(t, x)
	require.Len(t, w.articles, n+1, "all articles of this index and no other")
	require.Equal(t, n*x.layout.plan.Layout.Count, w.listed)
	require.Zero(t, w.damaged+w.missing+len(w.unlisted))

	// A list is lost, and an entry.
	lost := w.articles[newArticle(7, 0).Coordinates]
	block := x.layout.plan.Layout.AppendBlocks(nil, lost.Fingerprint)[1]
	ref := listRef{x.layout.span(windowTime(lost.Time)), block.Index, block.Value}
	f := fieldRef{ref.span, random64(8)}
	if x.cfg.Buckets == bucketsSets {
		require.NoError(t, client.Del(t.Context(), x.keys.listSet(ref)).Err())
	} else {
		require.NoError(t, client.HDel(t.Context(), x.keys.listHash(ref), ref.field().(string)).Err())
	}
	require.NoError(t, client.HDel(t.Context(), x.keys.entries(f), f.name()).Err())
	w = walk(t, x)
	require.Equal(t, x.layout.plan.Layout.Count, w.missing, "in each of its lists")
	require.True(t, slices.ContainsFunc(w.unlisted, func(s StoredArticle) bool { return s.Coordinates == lost.Coordinates }))
	require.NoError(t, x.Relist(t.Context(), w.unlisted))
	require.Empty(t, walk(t, x).unlisted)
}

// random64 spreads n over 64 bits.
func random64(n int) simhash.Fingerprint {
	return simhash.Fingerprint(uint64(n+1) * 0x9E3779B97F4A7C15)
}

func TestHide(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			x := newIndex(t, newClient(t, server.start(t)), testConfig(standard))
			testHide(t, x)
		})
	}
}

func testHide(t *testing.T, x *Index) {
	original, copied := newArticle(1, 0xF0), newArticle(2, 0xF1)
	published, err := x.Claim(t.Context(), []article.Article{original, copied})
	require.NoError(t, err)
	hide := func(a article.Article) {
		t.Helper()
		hidden, err := x.Hide(t.Context(), walk(t, x).articles[a.Coordinates])
		require.NoError(t, err)
		require.True(t, hidden)
	}
	hide(original)
	hide(copied)
	hide(original) // once more

	repeat := newArticle(3, 0xF0)
	repeat.Digest = original.Digest
	require.Equal(t, article.Unique, claimOne(t, x, repeat).Kind, "an exact repeat of a forgotten article")
	near := newArticle(4, 0xF2)
	require.Equal(t, repeat.Ref(), claimOne(t, x, near).Original, "the forgotten articles are originals of nothing")
	replayed, err := x.Claim(t.Context(), []article.Article{original, copied, repeat})
	require.NoError(t, err)
	require.Equal(t, published, replayed[:2], "old verdicts stay")
	require.Equal(t, article.Unique, replayed[2].Kind)
	require.Equal(t, RestoredHeld, restoreOne(t, startRestore(t, x), original, published[0]), "a refill leaves it forgotten")

	stale := walk(t, x).articles[near.Coordinates]
	claimOne(t, x, newArticle(5, 0xF2))
	hidden, err := x.Hide(t.Context(), stale)
	require.NoError(t, err)
	require.False(t, hidden, "the field has changed since it was read")
}

func TestHideOverflow(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			x := newIndex(t, newClient(t, server.start(t)), testConfig(standard))
			x.maxEntries = 1
			first, overflow := newArticle(1, 0xF0), newArticle(2, 0xF0)
			published, err := x.Claim(t.Context(), []article.Article{first, overflow})
			require.NoError(t, err)
			s := walk(t, x).articles[overflow.Coordinates]
			require.True(t, s.Overflow)
			e := entry{Article: s.Article} // a process was killed after the first of two steps
			half := s.place.entry[:ticketAt] + ticketBytes(maxTicket) + string(e.hiddenDigest()) + s.place.entry[formAt:]
			require.NoError(t, x.client.HSet(t.Context(), s.place.key, e.field().name()+string(e.hiddenDigest()), half).Err())
			replayed, err := x.Claim(t.Context(), []article.Article{first, overflow})
			require.NoError(t, err)
			require.Equal(t, published, replayed)
			hidden, err := x.Hide(t.Context(), s)
			require.NoError(t, err)
			require.True(t, hidden)
			repeat := newArticle(3, 0xF0)
			repeat.Digest, repeat.Time = overflow.Digest, repeat.Time.Add(time.Second)
			require.Equal(t, first.Ref(), claimOne(t, x, repeat).Original)
			replayed, err = x.Claim(t.Context(), []article.Article{first, overflow})
			require.NoError(t, err)
			require.Equal(t, published, replayed)
			require.Zero(t, walk(t, x).damaged)
		})
	}
}
