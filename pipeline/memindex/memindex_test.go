package memindex

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/simhash"
)

func TestContract(t *testing.T) {
	indextest.Run(t, func(_ *testing.T, p indextest.Params) pipeline.Index {
		return New(Config{Window: p.Window, Generations: p.Generations, Search: p.Search(), Policy: p.Policy})
	})
}

func TestForgetsWhatIsOutsideTheWindow(t *testing.T) {
	x := New(Config{Window: time.Hour, Generations: 2, Search: article.Search{Rule: article.Rule{MaxDistance: 3},
		Blocks: 4}})
	start := time.Unix(1_700_000_000, 0)
	claim := func(n int, at time.Time) article.Verdict {
		c := article.Article{Coordinates: article.Coordinates{Topic: "t", Offset: int64(n)}, Time: at}
		c.Fingerprint = simhash.Fingerprint(uint64(n) * 0x9E3779B97F4A7C15)
		binary.BigEndian.PutUint64(c.Digest[:], uint64(n))
		m, err := x.Claim(t.Context(), []article.Article{c})
		require.NoError(t, err)
		return m[0]
	}
	const perHour = minSweep / 2
	for n := range 10 * perHour {
		at := start.Add(time.Duration(n) * time.Hour / perHour)
		if n%1000 == 0 { // clocks that are wrong now and then must not make it forget the others
			at = at.AddDate(20, 0, 0)
		}
		claim(n, at)
	}
	require.Less(t, x.stored, 5*perHour, "articles kept")
	const late = 9*perHour + 7
	require.Equal(t, article.Unique, claim(late, start.Add(late*time.Hour/perHour)).Kind, "a replay within the window")
}
