package figures

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// show writes pieces as text, with differences in brackets.
func show(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Differs {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestDiffer(t *testing.T) {
	for _, c := range []struct{ a, b, left, right string }{
		{"", "", "", ""},
		{"the same text", "the same text", "the same text", "the same text"},
		{"a text, with\npunctuation", "a text with punctuation!", "a text, with\npunctuation",
			"a text with punctuation!"},
		{"profit rose 12 percent", "profit rose 15 percent", "profit rose 1[2] percent", "profit rose 1[5] percent"},
		{"short", "other", "[short]", "[other]"},
		{"昨晚足协杯四分之一决赛青澜港队胜", "昨晚足协杯四分之一决赛泽安机车胜", "昨晚足协杯四分之一决赛[青澜港队胜]", "昨晚足协杯四分之一决赛[泽安机车胜]"},
		{"added: all of the article", "all of the article", "[added]: all of the article", "all of the article"},
	} {
		left, right := Differ(c.a, c.b)
		require.Equal(t, c.left, show(left))
		require.Equal(t, c.right, show(right))
	}
}

// Long texts are shortened to their openings and their differences, for any text.
func TestDifferIsShort(t *testing.T) {
	long := strings.Repeat("a passage that both of them have, number after number. ", 200)
	left, right := Differ(long+"The end was rewritten here by hand.", long+"Quite another ending follows instead!")
	for _, side := range [][]Piece{left, right} {
		text := show(side)
		require.Less(t, len(text), 400)
		require.True(t, strings.HasPrefix(text, long[:openingLen]))
		require.Contains(t, text, leftOut)
	}
	require.Contains(t, show(left), "rewritten")
	left, _ = Differ(strings.Repeat("x1y2z3 ", 1<<20), "")
	require.LessOrEqual(t, len(show(left)), maxSideLen+len(leftOut)+2)
}
