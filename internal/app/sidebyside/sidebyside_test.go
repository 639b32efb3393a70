package sidebyside

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAlign(t *testing.T) {
	for name, c := range map[string]struct {
		left, right string
		want        []Run
	}{
		"both empty":    {"", "", []Run{}},
		"one empty":     {"", "a b", []Run{{false, "", "a b"}}},
		"the same":      {"a b", "a  b\n", []Run{{true, "a b", "a  b\n"}}},
		"spaces":        {" \n", "\t", []Run{}},
		"spaces before": {" \n a b", "a b", []Run{{true, " \n a b", "a b"}}},
		"a number": {"It rose 5 percent.", "It rose 15 percent.",
			[]Run{{true, "It rose ", "It rose "}, {false, "5 ", "15 "}, {true, "percent.", "percent."}}},
		"whole words": {
			"The Commons voted", "The commoners voted",
			[]Run{{true, "The ", "The "}, {false, "Commons ", "commoners "}, {true, "voted", "voted"}},
		},
		"case": {"The END.", "the end", []Run{{true, "The END", "the end"}, {false, ".", ""}}},
		"Chinese by characters": {
			"\u5317\u4eac\u4eca\u65e5\u6674", "\u5317\u4eac\u660e\u65e5\u6674",
			[]Run{{true, "\u5317\u4eac", "\u5317\u4eac"}, {false, "\u4eca", "\u660e"},
				{true, "\u65e5\u6674", "\u65e5\u6674"}},
		},
		"a word by chance": {
			"A: one two three the four five six end", "A: uno dos tres the cuatro cinco seis end",
			[]Run{{true, "A: ", "A: "}, {false, "one two three the four five six ",
				"uno dos tres the cuatro cinco seis "}, {true, "end", "end"}},
		},
		"a number is no chance": {
			"A: one two three 7 four five six end", "A: uno dos tres 7 cuatro cinco seis end",
			[]Run{
				{true, "A: ", "A: "},
				{false, "one two three ", "uno dos tres "},
				{true, "7 ", "7 "},
				{false, "four five six ", "cuatro cinco seis "},
				{true, "end", "end"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Align(c.left, c.right, strings.ToLower)) })
	}
}

// Random texts, of which one has some words replaced, removed and added: all words are there, what is the
// same is the same, and not much more is marked than was changed.
func TestAlignLargeTexts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name              string
		words, vocabulary int
		changed           float64
		least             float64 // share of words that must be found to be the same; -1: none need be
	}{
		{"article", 400, 300, 0.1, 0.8},
		{"1 MB, few changes", 150_000, 30_000, 0.02, 0.94},
		{"1 MB, many changes", 150_000, 30_000, 0.3, 0.6},
		{"1 MB, other text", 150_000, 30_000, 1, -1},
		{"1 MB of five words", 400_000, 5, 0.3, -1},
		{"1 MB of one word", 400_000, 1, 0.3, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			word := func() string { return "w" + strconv.Itoa(random.IntN(c.vocabulary)) + " " }
			var left, right strings.Builder
			for range c.words {
				w := word()
				left.WriteString(w)
				switch {
				case random.Float64() >= c.changed:
					right.WriteString(w)
				case random.IntN(3) == 0:
				case random.IntN(2) == 0:
					right.WriteString(word())
				default:
					right.WriteString(w + word())
				}
			}
			start := time.Now()
			runs := Align(left.String(), right.String(), nil)
			t.Log(len(runs), "runs in", time.Since(start))
			require.Less(t, time.Since(start), time.Minute)
			same := 0
			var l, r strings.Builder
			for i, run := range runs {
				l.WriteString(run.Left)
				r.WriteString(run.Right)
				if run.Same {
					require.Equal(t, run.Left, run.Right)
					same += strings.Count(run.Left, " ")
				}
				require.True(t, i == 0 || runs[i-1].Same != run.Same)
			}
			require.Equal(t, left.String(), l.String())
			require.Equal(t, right.String(), r.String())
			require.GreaterOrEqual(t, float64(same)/float64(c.words), c.least)
		})
	}
}

func TestAlignLongRunsOfSpaces(t *testing.T) {
	start := time.Now()
	spaces := strings.Repeat("\n", 1<<20)
	require.Equal(t, []Run{{true, "a" + spaces, "a "}, {false, "b", "c"}}, Align("a"+spaces+"b", "a c", nil))
	require.Less(t, time.Since(start), time.Minute)
}
