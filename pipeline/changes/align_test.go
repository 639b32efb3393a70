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
	same := func(left, right string) Run { return Run{Same: true, Left: left, Right: right} }
	differ := func(left, right string) Run { return Run{Left: left, Right: right} }
	spaces := strings.Repeat("\n", 1<<20)
	for name, c := range map[string]struct {
		left, right string
		want        []Run
	}{
		"both empty":    {"", "", []Run{}},
		"one empty":     {"", "a b", []Run{differ("", "a b")}},
		"the same":      {"a b", "a  b\n", []Run{same("a b", "a  b\n")}},
		"spaces":        {" \n", "\t", []Run{}},
		"spaces before": {" \n a b", "a b", []Run{same(" \n a b", "a b")}},
		"many spaces":   {"a" + spaces + "b", "a c", []Run{same("a"+spaces, "a "), differ("b", "c")}},
		"a number": {"It rose 5 percent.", "It rose 15 percent.",
			[]Run{same("It rose ", "It rose "), differ("5 ", "15 "), same("percent.", "percent.")}},
		"whole words": {"The Commons voted", "The commoners voted",
			[]Run{same("The ", "The "), differ("Commons ", "commoners "), same("voted", "voted")}},
		"case": {"The END.", "the end", []Run{same("The END", "the end"), differ(".", "")}},
		"Chinese by characters": {"北京今日晴", "北京明日晴",
			[]Run{same("北京", "北京"), differ("今", "明"), same("日晴", "日晴")}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Align(c.left, c.right, strings.ToLower)) })
	}
}

// Runs end where a sentence begins or ends that a publisher repeats, on either side.
func TestAlignMarksWhatIsRepeated(t *testing.T) {
	of := func(text string, repeated ...string) Side {
		s := Side{text, map[string]bool{}}
		for _, r := range repeated {
			s.Repeated[r] = true
		}
		return s
	}
	const notice = "read this too."
	for name, c := range map[string]struct {
		left, right Side
		want        []Run
	}{
		"both": {of("It rose 5 percent. Read this too. End.", notice), of("It rose 6 percent. Read this too.", notice), []Run{
			{Same: true, Left: "It rose ", Right: "It rose "}, {Left: "5 ", Right: "6 "},
			{Same: true, Left: "percent. ", Right: "percent. "},
			{Same: true, Left: "Read this too", Right: "Read this too", LeftRepeated: true, RightRepeated: true},
			{Left: ". ", LeftRepeated: true}, {Left: "End"}, {Same: true, Left: ".", Right: ".", RightRepeated: true},
		}},
		"one has learnt it": {of("A b. Read this too."), of("A b. Read this too.", notice), []Run{
			{Same: true, Left: "A b. ", Right: "A b. "},
			{Same: true, Left: "Read this too.", Right: "Read this too.", RightRepeated: true},
		}},
		"only one has it": {of("A b. Read this too.", notice), of("A b. C."), []Run{
			{Same: true, Left: "A b. ", Right: "A b. "}, {Left: "Read this too", Right: "C", LeftRepeated: true},
			{Same: true, Left: ".", Right: ".", LeftRepeated: true},
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, AlignSides(c.left, c.right, strings.ToLower)) })
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
