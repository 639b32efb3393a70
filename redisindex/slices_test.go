package redisindex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// A claim may reach into more slices than an index remembers. It still looks up in all of them, and ends.
func TestClaimOverManySlices(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	cfg := redisrig.Config(indextest.Params{Window: time.Minute, Generations: 2, MaxDistance: 3})
	originals, copies := make([]article.Article, maxKnownSlices+100), make([]article.Article, maxKnownSlices+100)
	for i := range originals {
		originals[i] = redisrig.Article(i, 0xff)
		originals[i].Time = originals[i].Time.Add(time.Duration(i) * 10 * time.Minute)
		copies[i] = redisrig.Article(len(originals)+i, 0xfe)
		copies[i].Time = originals[i].Time.Add(45 * time.Second) // in the next slice, or the one after
	}
	_, err := newIndex(t, client, cfg).Claim(t.Context(), originals)
	require.NoError(t, err)
	verdicts, err := newIndex(t, client, cfg).Claim(t.Context(), copies)
	require.NoError(t, err)
	for i, v := range verdicts {
		require.Equal(t, originals[i].Coordinates, v.Original.Coordinates)
	}
}
