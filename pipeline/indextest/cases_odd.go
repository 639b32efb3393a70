package indextest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

func testFlood(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	first := newArticle(0, 0, base, "0")
	require.Equal(t, unique(first), claimOne(t, x, first))
	var claims []article.Article
	for n := 1; n < 300; n++ {
		claims = append(claims, newArticle(n, 0, base, fmt.Sprint(n)))
	}
	for range 2 { // the second time as a replay
		for at := 0; at < len(claims); at += 50 {
			for _, m := range claim(t, x, claims[at:min(at+50, len(claims))]...) {
				require.Equal(t, near(first, first, 0), m)
			}
		}
	}
	again := newArticle(1000, 0, base, "250")
	require.Equal(t, exact(claims[249], first), claimOne(t, x, again), "an exact repeat in the crowd")
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

func testLongNames(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	var claims []article.Article
	for n := range 10 {
		c := newArticle(n, 0, base^1<<n^1, fmt.Sprint(n)) // the first is base itself
		c.Topic = strings.Repeat("t", 249)
		c.Partition, c.Offset = math.MaxInt32, math.MaxInt64-int64(n)
		c.ID = strings.Repeat("新", article.MaxIDBytes/3-1) + fmt.Sprintf("%05d", n)
		claims = append(claims, c)
	}
	claims[1].ID, claims[2].ID = "", "\x00\xff\r\n"
	first := claim(t, x, claims...)
	require.Equal(t, unique(claims[0]), first[0])
	require.Equal(t, near(claims[0], claims[0], 2), first[1])
	require.Equal(t, first, claim(t, x, claims...), "replay")
}

// A topic was deleted and made anew, and offsets begin again: no article is a copy of what is at its own coordinates.
func testTwoTextsAtOnePlace(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	a, b, late := newArticle(1, 0, base, "a"), newArticle(1, 0, base^1, "b"), newArticle(1, 50*time.Minute, base, "a")
	want := []article.Verdict{unique(a), unique(b), unique(late)}
	for range 2 { // the second time as a replay
		for i, c := range []article.Article{a, b, late} {
			require.Equal(t, want[i], claimOne(t, x, c))
		}
	}
}

func testHighBits(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	for n, fp := range []simhash.Fingerprint{1 << 63, math.MaxUint64, 0, 0x8000ffff00001234} {
		a, b := newArticle(2*n, 0, fp, fmt.Sprint("a", n)), newArticle(2*n+1, 0, fp^1<<63, fmt.Sprint("b", n))
		if n == 2 { // 0 lies beside 1 << 63
			require.Equal(t, article.Near, claimOne(t, x, a).Kind)
			continue
		}
		require.Equal(t, []article.Verdict{unique(a), near(a, a, 1)}, claim(t, x, a, b))
	}
}

func testContextEnd(t *testing.T, newIndex factory) {
	x := newIndex(t, standard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Claim(ctx, []article.Article{newArticle(1, 0, base, "a")})
	require.ErrorIs(t, err, context.Canceled)
}
