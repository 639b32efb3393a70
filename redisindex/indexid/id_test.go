package indexid

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func index() ID {
	return ID{
		Place:    Place{Namespace: "a space & more:x", Recipe: "news-4-3fa9c1d2", Layout: "3c00.18.4x15.11.5"},
		Settings: map[string]string{"window": "168h", "redis.generations": "1"},
	}
}

func TestNames(t *testing.T) {
	i := index()
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5:", i.Prefix())
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5", i.String())
	i.Database = 3
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5@3", i.String())
	for _, p := range []Place{
		{Namespace: "a:b", Recipe: "classic-python-30-1-3fa9c1d2", Layout: "3c00.18.4x15.sets.5"}, {Namespace: "ns", Layout: "3c00.18.4x15.11.5"},
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

func TestNotes(t *testing.T) {
	want := Note{Index: index(), Markers: 64, Seen: time.UnixMilli(1795412345678), Ticket: 48213}
	want.Index.Database = 2
	text := want.String()
	require.NotContains(t, text, " ", "one word of the label")
	require.Contains(t, text, "window=168h", "readable")
	got, ok := Parse(text)
	require.True(t, ok)
	require.Equal(t, want, got)
	require.True(t, got.Of(want.Index, 64))
	require.False(t, got.Of(want.Index, 1), "the same names on a cluster")
	require.False(t, got.Of(index(), 64), "another database")

	got, ok = Parse(text + "&something=new")
	require.True(t, ok, "a name that a later version writes")
	require.True(t, got.Index.Same(want.Index))
	for _, junk := range []string{"", "junk", "a.b.c", "another.1.99999999999999999999", "layout=x", "layout=x&seen=1&ticket=-1", "%zz", "seen=1&ticket=1"} {
		_, ok = Parse(junk)
		require.False(t, ok, junk)
	}
}

// A rolling upgrade meets notes that name the index by a hash: "echosieve:news-4-3fa9c1d2:3c00.18.4x15.11.5: 1" gives ubkfqj.
func TestNotesOfEarlierVersions(t *testing.T) {
	mine := ID{Place: Place{Namespace: "echosieve", Recipe: "news-4-3fa9c1d2", Layout: "3c00.18.4x15.11.5"}}
	n, ok := Parse("ubkfqj.1795412345678.48213")
	require.True(t, ok)
	require.Equal(t, time.UnixMilli(1795412345678), n.Seen)
	require.EqualValues(t, 48213, n.Ticket)
	require.True(t, n.Of(mine, 1), hash(mine, 1))
	require.False(t, n.Of(mine, 64))
	require.False(t, n.Of(index(), 1))
	require.Contains(t, mine.Compare(n.Index), "an earlier version of Echosieve")
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
		{func(i *ID) { i.Database, i.Namespace = 1, "y" }, "redis.db 0 here, 1 there; redis.namespace a space & more:x here, y there"},
		{func(i *ID) { i.Recipe = "news-5-0" }, "recipe id (settings under detection, or the release) news-4-3fa9c1d2 here, news-5-0 there"},
	} {
		other := index()
		c.change(&other)
		require.Equal(t, c.words, index().Compare(other))
		require.Equal(t, c.words == "", index().Same(other))
	}
}
