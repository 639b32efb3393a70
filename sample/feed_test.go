package sample

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts returns the first n articles of a source.
func texts(t *testing.T, s *Feed, n int) []article {
	t.Helper()
	var all []article
	for range n {
		id, value := s.Next()
		var a article
		require.NoError(t, json.Unmarshal(value, &a))
		require.Equal(t, a.ID, id)
		require.NotEmpty(t, a.Title)
		all = append(all, a)
	}
	return all
}

func TestFeedWithoutEnd(t *testing.T) {
	s := NewFeed("test", .4, 7)
	const n = 3000
	ids, same := map[string]bool{}, map[string]int{}
	length := 0
	for _, a := range texts(t, s, n) {
		ids[a.ID] = true
		same[a.Text]++
		length += len(a.Text)
		require.NotContains(t, a.Text, "\ufffd", "text was cut within a character")
	}
	require.Len(t, ids, n)
	made := s.Made()
	require.Equal(t, n, made.Originals+made.Near+made.Exact)
	require.InDelta(t, .2*n, made.Near, .03*n)
	require.InDelta(t, .2*n, made.Exact, .03*n)
	require.InDelta(t, n-made.Exact, len(same), float64(n)/200, "all texts differ, except of exact copies")
	require.InDelta(t, 1700, length/n, 500, "as long as news are")
}

func TestFeedSeeds(t *testing.T) {
	require.Equal(t, texts(t, NewFeed("test", .3, 1), 50), texts(t, NewFeed("test", .3, 1), 50))
	require.NotEqual(t, texts(t, NewFeed("test", .3, 1), 50), texts(t, NewFeed("test", .3, 2), 50))
	made := NewFeed("test", 0, 1)
	texts(t, made, 100)
	require.Equal(t, Made{Originals: 100}, made.Made())
}

func TestNearCopiesHoldMostOfTheirOriginal(t *testing.T) {
	s := NewFeed("test", 0, 3)
	for range 50 {
		original := s.original()
		copied := s.near(original).Text
		_, rest, found := strings.Cut(copied, strings.TrimSpace(original.Text)[:40])
		require.True(t, found)
		require.Greater(t, 10*(len(rest)+40), 8*len(original.Text))
		require.NotEqual(t, original.Text, copied)
	}
}

// Originals share no sentences: an index full of them would cost more than one of news.
func TestOriginalsShareNoSentences(t *testing.T) {
	s := NewFeed("test", 0, 5)
	runs, all := map[string]bool{}, map[string]int{} // runs of eight tokens; number of all, by the tokens' separator
	distinct := map[string]int{}
	for range 3000 {
		a := s.original()
		tokens := a.chain.tokens(a.Text)
		for i := range len(tokens) - 8 {
			run := strings.Join(tokens[i:i+8], " ")
			all[a.chain.separator]++
			if !runs[run] {
				runs[run] = true
				distinct[a.chain.separator]++
			}
		}
	}
	for separator, n := range all {
		require.Greater(t, float64(distinct[separator])/float64(n), .93, "separator %q", separator)
	}
}
