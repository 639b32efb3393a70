package admin

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

func TestWalk(t *testing.T) {
	redisrig.OnKinds(t, func(t *testing.T, addr, buckets string) {
		client := redisrig.Client(t, addr)
		testWalk(t, client, indexrig.New(t, client, redisrig.KindConfig(redisrig.Standard, buckets)))
	})
}

func TestWalkDistributed(t *testing.T) {
	for _, d := range redisrig.Distributed {
		t.Run(d.Name, func(t *testing.T) {
			if d.Name != "Cluster" {
				host.All(t)
			}
			o := redisrig.Crowded(d.Start(t))
			o.WaitReplicas = 1 // writes leave fences behind for a second, whose names begin like those of entries
			client := redisrig.Connect(t, o)
			testWalk(t, client, indexrig.New(t, client, redisrig.Config(redisrig.Standard)))
			testHide(t, indexrig.New(t, client, redisrig.Config(redisrig.Standard)))
			x := indexrig.New(t, client, redisrig.Config(redisrig.Standard))
			original := redisrig.Article(1, 0xF0)
			published := article.Verdict{Kind: article.Unique, Root: original.Ref()}
			require.Equal(t, RestoredNew, restoreOne(t, startRestore(t, x), original, published))
			require.Equal(t, published, indexrig.ClaimOne(t, x, original))
		})
	}
}

// walked is what a walk finds.
type walked struct {
	articles map[article.Coordinates]keyspace.StoredArticle
	damaged  int
}

func walk(t *testing.T, x *redisindex.Index) walked {
	t.Helper()
	w := walked{articles: map[article.Coordinates]keyspace.StoredArticle{}}
	seen := int64(0)
	require.NoError(t, New(x).Walk(t.Context(), func(keys, _ int64) { seen += keys }, func(k Keys) error {
		found, damaged, err := k.Articles(t.Context())
		require.NoError(t, err)
		w.damaged += damaged
		bytes, err := k.Bytes(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(found) > 0, bytes[keyspace.KeyEntries] > 0)
		for _, s := range found {
			w.articles[s.Coordinates] = s
		}
		return nil
	}))
	require.Positive(t, seen)
	return w
}

func testWalk(t *testing.T, client redis.UniversalClient, x *redisindex.Index) {
	others := redisrig.Config(redisrig.Standard)
	for _, namespace := range []string{others.Namespace, x.Keys().ID.Namespace + "2", "*"} {
		others.Namespace = namespace
		indexrig.ClaimOne(t, indexrig.New(t, client, others), redisrig.Article(99, 0xFFFF<<40))
	}
	const n = 300
	for i := range n {
		indexrig.ClaimOne(t, x, redisrig.Article(i, random64(i)))
	}
	little := redisrig.Article(n, random64(n))
	little.LittleText = true
	indexrig.ClaimOne(t, x, little)

	w := walk(t, x)
	require.Len(t, w.articles, n+1, "all articles of this index and no other")
	require.Zero(t, w.damaged)
	others.Namespace = "*" // a name that matches all others as a pattern
	require.Len(t, walk(t, indexrig.New(t, client, others)).articles, 1)
}

// random64 spreads n over 64 bits.
func random64(n int) simhash.Fingerprint {
	return simhash.Fingerprint(uint64(n+1) * 0x9E3779B97F4A7C15)
}

func TestHide(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		x := indexrig.New(t, redisrig.Client(t, addr), redisrig.Config(redisrig.Standard))
		testHide(t, x)
	})
}

func testHide(t *testing.T, x *redisindex.Index) {
	original, copied := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF1)
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

	repeat := redisrig.Article(3, 0xF0)
	repeat.Digest = original.Digest
	require.Equal(t, article.Unique, indexrig.ClaimOne(t, x, repeat).Kind, "an exact repeat of a forgotten article")
	near := redisrig.Article(4, 0xF2)
	require.Equal(t, repeat.Ref(), indexrig.ClaimOne(t, x, near).Original,
		"the forgotten articles are originals of nothing")
	replayed, err := x.Claim(t.Context(), []article.Article{original, copied, repeat})
	require.NoError(t, err)
	require.Equal(t, published, replayed[:2], "old verdicts stay")
	require.Equal(t, article.Unique, replayed[2].Kind)
	require.Equal(t, RestoredHeld, restoreOne(t, startRestore(t, x), original, published[0]),
		"a refill leaves it forgotten")

	stale := walk(t, x).articles[near.Coordinates]
	indexrig.ClaimOne(t, x, redisrig.Article(5, 0xF2))
	hidden, err := x.Hide(t.Context(), stale)
	require.NoError(t, err)
	require.False(t, hidden, "the field has changed since it was read")
}

func TestHideOverflow(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		x := indexrig.New(t, redisrig.Client(t, addr), redisrig.Config(redisrig.Standard))
		first, overflow := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF0)
		indexrig.ClaimOne(t, x, first)
		for n := range keyspace.MaxEntries - 1 {
			indexrig.ClaimOne(t, x, redisrig.Article(10+n, 0xF0))
		}
		published, err := x.Claim(t.Context(), []article.Article{first, overflow})
		require.NoError(t, err)
		s := walk(t, x).articles[overflow.Coordinates]
		require.True(t, s.Overflow)
		e := keyspace.Entry{Article: s.Article} // a process was killed after the first of two steps
		half, _ := s.AsHidden()
		require.NoError(t, x.Client().HSet(t.Context(), s.At.Key, e.Field().Name()+string(e.HiddenDigest()),
			half).Err())
		replayed, err := x.Claim(t.Context(), []article.Article{first, overflow})
		require.NoError(t, err)
		require.Equal(t, published, replayed)
		hidden, err := x.Hide(t.Context(), s)
		require.NoError(t, err)
		require.True(t, hidden)
		repeat := redisrig.Article(3, 0xF0)
		repeat.Digest, repeat.Time = overflow.Digest, repeat.Time.Add(time.Second)
		require.Equal(t, first.Ref(), indexrig.ClaimOne(t, x, repeat).Original)
		replayed, err = x.Claim(t.Context(), []article.Article{first, overflow})
		require.NoError(t, err)
		require.Equal(t, published, replayed)
		require.Zero(t, walk(t, x).damaged)
	})
}
