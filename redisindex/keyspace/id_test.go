package keyspace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func index() ID {
	return ID{
		Name:     Name{Namespace: "a space & more:x", Recipe: "news-4-3fa9c1d2", Layout: "3c00.18.4x15.11.5"},
		Settings: map[string]string{"window": "168h", "redis.generations": "1"},
	}
}

func TestNamesOfIndexes(t *testing.T) {
	i := index()
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5:", i.Prefix())
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5", i.String())
	i.Database = 3
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5@3", i.String())
	for _, p := range []Name{
		{Namespace: "a:b", Recipe: "classic-python-30-1-3fa9c1d2", Layout: "3c00.18.4x15.sets.5"},
		{Namespace: "ns", Layout: "3c00.18.4x15.11.5"},
	} {
		got, ok := ParsePrefix(p.Prefix())
		require.True(t, ok)
		require.Equal(t, p, got)
	}
	for _, text := range []string{"", "queue:", "orders:3c00:", "3c00.18.4x15.11.5:"} {
		_, ok := ParsePrefix(text)
		require.False(t, ok, text)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		change func(*ID)
		words  string
	}{
		{func(*ID) {}, ""},
		{func(i *ID) { i.Settings = nil }, ""},
		{func(i *ID) { i.Layout, i.Settings["window"] = "x", "72h" }, "window 168h here, 72h there"},
		{func(i *ID) { i.Layout, i.Settings["later"] = "x", "1" }, "layout of keys 3c00.18.4x15.11.5 here, x there"},
		{func(i *ID) { i.Database, i.Namespace = 1, "y" },
			"redis.db 0 here, 1 there; redis.namespace a space & more:x here, y there"},
		{func(i *ID) { i.Recipe = "news-5-0" },
			"recipe id (settings under detection, or the release) news-4-3fa9c1d2 here, news-5-0 there"},
	} {
		other := index()
		c.change(&other)
		require.Equal(t, c.words, index().Compare(other))
		require.Equal(t, c.words == "", index().Same(other))
	}
}
