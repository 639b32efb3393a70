package watch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/redisindex/keyspace"
)

func index() keyspace.ID {
	return keyspace.ID{
		Name:     keyspace.Name{Namespace: "a space & more:x", Recipe: "news-4-3fa9c1d2", Layout: "3c00.18.4x15.11.5"},
		Settings: map[string]string{"window": "168h", "redis.generations": "1"},
	}
}

func TestLabels(t *testing.T) {
	want := Label{Index: index(), Markers: 64, Seen: time.UnixMilli(1795412345678), Ticket: 48213}
	want.Index.Database = 2
	text := want.String()
	require.NotContains(t, text, " ", "one word of the label")
	require.Contains(t, text, "window=168h", "readable")
	got, ok := ParseLabel(text)
	require.True(t, ok)
	require.Equal(t, want, got)
	require.True(t, got.Of(want.Index, 64))
	require.False(t, got.Of(want.Index, 1), "the same names on a cluster")
	require.False(t, got.Of(index(), 64), "another database")

	got, ok = ParseLabel(text + "&something=new")
	require.True(t, ok, "a name that a later version writes")
	require.True(t, got.Index.Same(want.Index))
	for _, junk := range []string{"", "junk", "a.b.c", "another.1.99999999999999999999", "layout=x",
		"layout=x&seen=1&ticket=-1", "%zz", "seen=1&ticket=1"} {
		_, ok = ParseLabel(junk)
		require.False(t, ok, junk)
	}
}
