package indextest

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/simhash"

	"github.com/stretchr/testify/require"
)

const base simhash.Fingerprint = 0x123456789abcdef0

type factory = func(*testing.T, Params) pipeline.Index

func testReplay(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	articles := []article.Article{
		newArticle(1, 0, base, "a"), newArticle(2, 0, base^7, "b"), newArticle(3, 0, base, "a"),
		newArticle(4, 0, base^7<<30, "c"), little(5, 0, "d"), little(6, 0, "d"),
	}
	first := claim(t, x, articles...)
	for n := range 50 { // neighbours of every kind arrive
		claimOne(t, x, newArticle(100+n, 0, base^simhash.Fingerprint(n), fmt.Sprint("neighbour", n)))
	}
	for n := range 3 {
		require.Equal(t, first, claim(t, x, articles...), "replay %d of the whole call", n)
	}
	for i := len(articles) - 1; i >= 0; i-- {
		require.Equal(t, first[i], claimOne(t, x, articles[i]), "replay of %d, in another order", i)
		renamed := articles[i]
		renamed.ID += " by another setting"
		require.Equal(t, first[i], claimOne(t, x, renamed), "replay of %d, its id read from another field", i)
	}
}

// An article that could not be published is the original of nothing. Its own record gets the same verdict again.
func testRetract(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	retract := func(a article.Article) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, x.Retract(ctx, &a))
	}
	a, repeat := newArticle(1, 0, base, "a"), newArticle(2, 0, base, "a")
	require.Equal(t, []article.Verdict{unique(a), exact(a, a)}, claim(t, x, a, repeat))
	retract(repeat)
	again := newArticle(3, 0, base, "a")
	require.Equal(t, exact(a, a), claimOne(t, x, again), "an exact repeat has no entry, so its original stays")
	retract(a)
	retract(a)
	copied := newArticle(4, time.Second, base^1, "one bit off")
	require.Equal(t, unique(copied), claimOne(t, x, copied), "no copy of a retracted article")
	same := newArticle(5, time.Second, base, "a")
	require.Equal(t, near(copied, copied, 1), claimOne(t, x, same), "nor an exact repeat of it")
	require.Equal(t, unique(a), claimOne(t, x, a), "a replay gets the verdict that it had")
	retract(copied)
	require.Equal(t, near(copied, copied, 1), claimOne(t, x, same), "what was decided stays")
	unknown := newArticle(6, 0, ^base, "never claimed")
	retract(unknown)
	l := little(7, 0, "b")
	require.Equal(t, unique(l), claimOne(t, x, l))
	retract(l)
	m := little(8, 0, "b")
	require.Equal(t, unique(m), claimOne(t, x, m))
}

// A released article is unique, whatever it resembles, and its second release is an exact copy of the first. Copies
// that come later are copies.
func testRelease(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	original, dropped := newArticle(1, 0, base, "a"), newArticle(2, time.Minute, base^1, "b")
	released, again := dropped, dropped
	released.Offset, again.Offset, released.Released, again.Released = 10, 11, true, true
	released.Digest[0]++
	again.Digest[0]++
	later := newArticle(3, 40*time.Minute, base^1, "b") // in the next slice
	again.Time = later.Time
	require.Equal(t, []article.Verdict{unique(original), near(original, original, 1)}, claim(t, x, original, dropped))
	require.Equal(t, unique(released), claimOne(t, x, released))
	require.Equal(t, unique(released), claimOne(t, x, released), "a replay")
	require.Equal(t, exact(released, released), claimOne(t, x, again))
	require.Equal(t, original.Ref(), claimOne(t, x, later).Root)
	x = newIndex(t, standard)
	require.Equal(t, unique(released), claimOne(t, x, released))
	require.Equal(t, near(released, released, 0), claimOne(t, x, later), "alone, it is an original")
}

func testReplayWithinCall(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	a, b := newArticle(1, 0, base, "a"), newArticle(2, 0, base^1, "b")
	require.Equal(t, []article.Verdict{unique(a), unique(a), near(a, a, 1), unique(a), near(a, a, 1)},
		claim(t, x, a, a, b, a, b))
}

func testWindowEdges(t *testing.T, newIndex factory) {
	for _, shift := range []time.Duration{0, time.Millisecond, 17 * time.Minute, 30*time.Minute - time.Millisecond} {
		for _, test := range []struct {
			name string
			gap  time.Duration
			copy bool
		}{
			{"inside", time.Hour - time.Millisecond, true},
			{"edge", time.Hour, true},
			{"outside", time.Hour + time.Millisecond, false},
			{"far", 300 * time.Hour, false},
			{"late, inside", -time.Hour + time.Millisecond, true},
			{"late, edge", -time.Hour, true},
			{"late, outside", -time.Hour - time.Millisecond, false},
		} {
			t.Run(fmt.Sprint(shift, " ", test.name), func(t *testing.T) {
				x := newIndex(t, standard)
				a, b := newArticle(1, shift, base, "a"), newArticle(2, shift+test.gap, base^1, "b")
				c, d := little(3, shift, "c"), little(4, shift+test.gap, "c")
				got := claim(t, x, a, b, c, d)
				if test.copy {
					require.Equal(t, []article.Verdict{unique(a), near(a, a, 1), unique(c), exact(c, c)}, got)
				} else {
					require.Equal(t, []article.Verdict{unique(a), unique(b), unique(c), unique(d)}, got)
				}
			})
		}
	}
}

// The articles differ in four bits, one in each block, so only probes find the earlier one.
func testProbes(t *testing.T, newIndex factory) {
	const flipped simhash.Fingerprint = 1<<63 | 1<<47 | 1<<31 | 1<<15
	a, b := newArticle(1, 0, base, "a"), newArticle(2, 0, base^flipped, "b")
	b.Sums = new(simhash.Sums)
	for bit := range b.Sums {
		b.Sums[bit] = 100
		if flipped>>bit&1 == 1 {
			b.Sums[bit] = 1
		}
	}
	far := newArticle(3, 0, base^flipped^0xff0, "c") // a probe finds a, but the distance is too large
	far.Sums = b.Sums
	for probes, want := range [][]article.Verdict{
		{unique(a), unique(b), near(b, b, 8)},
		{unique(a), near(a, a, 4), near(b, a, 8)},
	} {
		x := newIndex(t, Params{Window: time.Hour, Slices: 2, MaxDistance: 8, Blocks: 4, Probes: probes})
		require.Equal(t, want, claim(t, x, a, b, far), "%d probes", probes)
	}
}

// anchored makes an article with anchors.
func anchored(n int, fp simhash.Fingerprint, anchors ...uint64) article.Article {
	c := newArticle(n, 0, fp, fmt.Sprint(n))
	for _, a := range anchors {
		c.Anchors = append(c.Anchors, a<<58)
	}
	return c
}

// The articles have no block in common, so only anchors find the earlier one. An article is stored under its
// foremost three anchors and looked up by all of its anchors.
func testAnchors(t *testing.T, newIndex factory) {
	const apart simhash.Fingerprint = 1<<63 | 1<<47 | 1<<31 | 1<<15
	const further simhash.Fingerprint = 0xff<<55 | 0xff<<39 | 0xff<<23
	a := anchored(1, base, 1, 2, 3, 4)
	b := anchored(2, base^apart, 9, 8, 2)
	fourth := anchored(3, base^apart>>1, 4) // a is not stored under its fourth anchor
	far := anchored(4, base^further, 1)     // an anchor finds a, but the distance is too large
	same := anchored(5, base, 7)            // a is found by its blocks; same is stored under its anchor as well
	last := anchored(6, base^apart>>2, 7)
	x := newIndex(t, Params{Window: time.Hour, Slices: 2, MaxDistance: 8, Blocks: 4})
	want := []article.Verdict{unique(a), near(a, a, 4), unique(fourth), unique(far), near(a, a, 0), near(a, a, 4)}
	require.Equal(t, want, claim(t, x, a, b, fourth, far, same, last))
}

// Beyond LoneDistance one equal block, own or probed, makes no candidate. Two of them, or an anchor, make one
// up to MaxDistance.
func testReach(t *testing.T, newIndex factory) {
	x := newIndex(t, Params{Window: time.Hour, Slices: 2, MaxDistance: 8, LoneDistance: 4, Blocks: 4, Probes: 1})
	a := anchored(1, base, 1, 2)
	four := anchored(2, base^(3<<62|1<<46|1<<30), 3) // one block is equal
	five := anchored(3, base^(3<<46|3<<30|1<<15), 4) // one block is equal
	two := anchored(7, base^(0xf<<60|0xf<<44), 6)    // two blocks are equal
	// all blocks differ; one of them is equal after its weakest bit is flipped
	probed := anchored(4, base^(1<<63|1<<47|1<<31|7<<12), 5)
	probed.Sums = &simhash.Sums{}
	for bit := range probed.Sums {
		probed.Sums[bit] = 10
	}
	probed.Sums[63] = 1
	eight := anchored(5, base^(3<<62|3<<46|3<<30|3<<14), 2) // no block is equal
	nine := anchored(6, base^0x1ff, 1)
	articles := []article.Article{a, four, five, two, probed, eight, nine}
	want := []article.Verdict{
		unique(a), near(a, a, 4), unique(five), near(a, a, 8), unique(probed), near(a, a, 8),
		unique(nine),
	}
	require.Equal(t, want, claim(t, x, articles...))
	for i, c := range articles {
		require.Equal(t, want[i], claimOne(t, x, c), "replay of %d", i)
	}
}

func testFlood(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	first := newArticle(0, 0, base, "0")
	require.Equal(t, unique(first), claimOne(t, x, first))
	var articles []article.Article
	for n := 1; n < 300; n++ {
		articles = append(articles, newArticle(n, 0, base, fmt.Sprint(n)))
	}
	for range 2 { // the second time as a replay
		for at := 0; at < len(articles); at += 50 {
			for _, v := range claim(t, x, articles[at:min(at+50, len(articles))]...) {
				require.Equal(t, near(first, first, 0), v)
			}
		}
	}
	again := newArticle(1000, 0, base, "250")
	require.Equal(t, exact(articles[249], first), claimOne(t, x, again), "an exact repeat in the crowd")
}

func testOddTimes(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	n := 0
	at := func(ms int64, fp simhash.Fingerprint) article.Article {
		n++
		c := newArticle(n, 0, fp, fmt.Sprint("text ", n))
		c.Time = time.UnixMilli(ms)
		return c
	}
	negative, longAgo, zero := at(-1, base), at(-1e15, base), at(0, base)
	require.Equal(t, []article.Verdict{unique(negative), near(negative, negative, 0), near(negative, negative, 0)},
		claim(t, x, negative, longAgo, zero), "anything before 1970 counts as 1970")
	edge, beyond := at(3_600_000, base), at(3_600_001, base)
	require.Equal(t, []article.Verdict{near(negative, negative, 0), near(edge, negative, 0)}, claim(t, x, edge, beyond))
	for _, ms := range []int64{253_402_300_799_000, math.MaxInt64 / 2, math.MaxInt64} {
		far, copied := at(ms, base), at(ms-1000, base)
		require.Equal(t, []article.Verdict{unique(far), near(far, far, 0)}, claim(t, x, far, copied), "%d", ms)
		require.Equal(t, unique(far), claimOne(t, x, far), "replay at %d", ms)
	}
}

// A topic was deleted and recreated, so its offsets begin again. The new article has the coordinates of an
// old one and must not become a copy of itself.
func testRecreatedTopic(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	a, b, late := newArticle(1, 0, base, "a"), newArticle(1, 0, base^1, "b"), newArticle(1, 50*time.Minute, base, "a")
	want := []article.Verdict{unique(a), unique(b), unique(late)}
	for range 2 { // the second time as a replay
		for i, c := range []article.Article{a, b, late} {
			require.Equal(t, want[i], claimOne(t, x, c))
		}
	}
}

func testContextEnd(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Claim(ctx, []article.Article{newArticle(1, 0, base, "a")})
	require.ErrorIs(t, err, context.Canceled)
}
