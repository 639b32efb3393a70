package load

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts returns the first n articles of a feed.
func texts(t *testing.T, f *Feed, n int) []article {
	t.Helper()
	var all []article
	for range n {
		id, value := f.Next()
		var a article
		require.NoError(t, json.Unmarshal(value, &a))
		require.Equal(t, a.ID, id)
		require.NotEmpty(t, a.Title)
		require.NotEmpty(t, a.Source)
		all = append(all, a)
	}
	return all
}

func TestFeedWithoutEnd(t *testing.T) {
	f := NewFeed("test", .4, 7)
	const n = 3000
	ids, originals, titles := map[string]bool{}, map[string]bool{}, map[string]bool{}
	length := 0
	for _, a := range texts(t, f, n) {
		require.True(t, a.CopyOf == "" || ids[a.CopyOf], "a copy follows its original")
		ids[a.ID] = true
		length += len(a.Text)
		if a.CopyOf == "" {
			originals[a.Text], titles[a.Title] = true, true
		}
	}
	require.Len(t, ids, n)
	made := f.made
	require.Equal(t, n, made.Originals+made.Near+made.Exact)
	require.InDelta(t, .2*n, made.Near, .03*n)
	require.InDelta(t, .2*n, made.Exact, .03*n)
	require.Len(t, originals, made.Originals, "no two originals are alike")
	require.Greater(t, len(titles), made.Originals*98/100)
	require.InDelta(t, 1000, length/n, 250, "as long as short news are")
}

// Readers see whole sentences: nothing is left of the notation of the forms, and each paragraph ends as a
// sentence does.
func TestOriginalsAreWholeSentences(t *testing.T) {
	f := NewFeed("test", 0, 3)
	notation := regexp.MustCompile(`[{}|¶#\[\]]|=>|  |\ba [aei]|^[a-z]|[.?!] [a-z]`)
	for range 3000 {
		o := f.original("1")
		require.GreaterOrEqual(t, len(o.paragraphs), 4)
		for _, text := range append(o.paragraphs, o.Title) {
			require.NotRegexp(t, notation, text)
		}
		for _, p := range o.paragraphs {
			require.Regexp(t, `([.!?]"?|[。！？]”?)$`, p)
		}
	}
}

func TestPolish(t *testing.T) {
	for text, want := range map[string]string{
		`a unusual day. "we saw," he said. it rained`: `An unusual day. "We saw," he said. It rained`,
		`a used a 8th and a 80th and a 11`:            `A used an 8th and an 80th and an 11`,
		`she said: "go." a union, again`:              `She said: "Go." A union, again`,
		"青澜市的a股":                                      "青澜市的a股",
	} {
		require.Equal(t, want, polish(text))
	}
}
