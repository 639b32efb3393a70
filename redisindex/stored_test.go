package redisindex

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/test/redisrig"
)

func TestStored(t *testing.T) {
	x := newIndex(t, redisrig.Client(t, miniredis.RunT(t).Addr()), redisrig.Config(redisrig.Standard))
	x.keys.Layout.MaxEntries = 2
	original, near := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF0)
	claimOne(t, x, original)
	read := counted(x.metrics.members)
	claimOne(t, x, near)
	overflow := redisrig.Article(3, 0xF0)
	claimOne(t, x, overflow)
	require.Equal(t, 3*read, counted(x.metrics.members), "no claim reads a list twice")

	found, err := x.Stored(t.Context(), &original)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, original.Coordinates, found[0].Coordinates)
	require.Equal(t, article.Verdict{Kind: article.Unique, Root: original.Ref()}, found[0].Verdict)
	require.Equal(t, original.Ref(), found[1].Verdict.Original)
	require.Less(t, found[0].Ticket, found[1].Ticket)

	found, err = x.Stored(t.Context(), &overflow)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.True(t, found[2].Overflow)
	require.Equal(t, overflow.Coordinates, found[2].Coordinates)

	other := redisrig.Article(4, 0xF0)
	other.Time = other.Time.Add(-10 * x.cfg.Window)
	found, err = x.Stored(t.Context(), &other)
	require.NoError(t, err)
	require.Empty(t, found, "of slices out of reach")
}

func TestCandidates(t *testing.T) {
	client := redisrig.Client(t, miniredis.RunT(t).Addr())
	x := newIndex(t, client, redisrig.Config(redisrig.Standard))
	original := redisrig.Article(1, 0xF0)
	claimOne(t, x, original)
	before := client.Keys(t.Context(), "*").Val()
	later := redisrig.Article(2, 0xF1)
	found, err := x.Candidates(t.Context(), &later)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, original.Coordinates, found[0].Coordinates)
	require.Equal(t, 1, found[0].Distance)
	require.Equal(t, article.Near, found[0].Kind)
	require.Equal(t, article.Unique, found[0].Verdict.Kind)
	require.ElementsMatch(t, before, client.Keys(t.Context(), "*").Val(), "nothing is written")
	require.Equal(t, article.Near, claimOne(t, x, later).Kind)
}
