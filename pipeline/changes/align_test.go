package changes

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAlign(t *testing.T) {
	spaces := strings.Repeat("\n", 1<<20)
	for name, c := range map[string]struct {
		left, right string
		want        []Run
	}{
		"both empty":    {"", "", []Run{}},
		"one empty":     {"", "a b", []Run{{false, "", "a b"}}},
		"the same":      {"a b", "a  b\n", []Run{{true, "a b", "a  b\n"}}},
		"spaces":        {" \n", "\t", []Run{}},
		"spaces before": {" \n a b", "a b", []Run{{true, " \n a b", "a b"}}},
		"many spaces":   {"a" + spaces + "b", "a c", []Run{{true, "a" + spaces, "a "}, {false, "b", "c"}}},
		"a number": {"It rose 5 percent.", "It rose 15 percent.",
			[]Run{{true, "It rose ", "It rose "}, {false, "5 ", "15 "}, {true, "percent.", "percent."}}},
		"whole words": {"The Commons voted", "The commoners voted",
			[]Run{{true, "The ", "The "}, {false, "Commons ", "commoners "}, {true, "voted", "voted"}}},
		"case": {"The END.", "the end", []Run{{true, "The END", "the end"}, {false, ".", ""}}},
		"Chinese by characters": {"北京今日晴", "北京明日晴",
			[]Run{{true, "北京", "北京"}, {false, "今", "明"}, {true, "日晴", "日晴"}}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Align(c.left, c.right, strings.ToLower)) })
	}
}

// Random texts, of which one has some words replaced, removed and added: what is the same is the same, not much more is
// marked than was changed, and all words are there but those of which the runs say that they are too many.
func TestAlignLargeTexts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name              string
		words, vocabulary int
		changed           float64
		least             float64 // share of the compared words that must be found to be the same
	}{
		{"article", 400, 300, 0.1, 0.8},
		{"1 MB, few changes", 150_000, 30_000, 0.02, 0.94},
		{"1 MB, many changes", 150_000, 30_000, 0.3, 0.6},
		{"1 MB, other text", 150_000, 30_000, 1, 0},
		{"1 MB of five words", 400_000, 5, 0.3, 0.4},
		{"1 MB of one word", 400_000, 1, 0.3, 0.5},
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
			runs := Align(left.String(), right.String(), nil)
			compared, same, leftOut := 0, 0, 0
			var l, r strings.Builder
			for i, run := range runs {
				require.True(t, i == 0 || runs[i-1].Same != run.Same)
				if body, note, cut := strings.Cut(run.Left, "\n["); cut {
					_, err := fmt.Sscanf(note, "%d more words, too many to compare]\n", &leftOut)
					require.NoError(t, err)
					run.Left = body
				}
				words := strings.Count(run.Left, " ")
				if compared += words; run.Same {
					require.Equal(t, run.Left, run.Right)
					same += words
				}
				if leftOut == 0 {
					l.WriteString(run.Left)
					r.WriteString(run.Right)
				}
			}
			require.Equal(t, c.words, compared+leftOut)
			require.True(t, strings.HasPrefix(left.String(), l.String()) && strings.HasPrefix(right.String(), r.String()))
			require.Equal(t, c.words > mostWords && c.vocabulary > 1, leftOut > 0)
			require.GreaterOrEqual(t, float64(same)/float64(compared), c.least)
		})
	}
}
