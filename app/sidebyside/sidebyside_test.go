package sidebyside

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"echosieve/test/host"
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

// Texts are shown in time and memory linear in their length, whatever they hold.
func TestCostIsLinear(t *testing.T) {
	for name, repeated := range map[string][2]string{
		"one word": {"a ", "b "}, "one long word": {"1.1", "1.2"}, "one sentence": {"\u65b0", "\u95fb"},
		"period": {"a a b ", "a b "}, "lines": {"a\n", "\n b"}, "sentences": {"A b. ", "A c. "},
	} {
		show := func(bytes int) func() {
			left := "x " + strings.Repeat(repeated[0], bytes/len(repeated[0]))
			right := strings.Repeat(repeated[1], bytes/len(repeated[1]))
			return func() {
				runs := Align(left, right, strings.ToLower)
				Terminal{Width: 80, Whole: true}.Render(runs)
				HTML(runs, true)
			}
		}
		growth := host.Ratio(t, 50*time.Millisecond, 8, show(256<<10), show(1<<20))
		require.Less(t, growth, 8.0, "%s: 1 MiB takes so many times as long as 256 KiB", name)
	}
}

const (
	old     = "A fire broke out on Monday.\nNobody was hurt.\nThe cause is unknown.\nPolice closed 2 roads.\n"
	revised = "A fire broke out on Tuesday night.\nNobody was hurt.\nThe cause is unknown.\nPolice closed 2 roads.\n"
)

func TestTerminal(t *testing.T) {
	runs := Align(old, revised, nil)
	require.Equal(t, `A fire broke out on          | A fire broke out on
[-Monday-].                  | {+Tuesday night+}.
Nobody was hurt.             | Nobody was hurt.
... 2 lines the same
`, Terminal{Width: 60}.Render(runs))
	require.Contains(t, Terminal{Width: 100, Whole: true}.Render(runs),
		"Police closed 2 roads.                           | Police closed 2 roads.\n")
	require.Contains(t, Terminal{Width: 100}.Render(Align(strings.ToUpper(old), revised, strings.ToLower)),
		"... 2 lines the same")
	require.Contains(t, Terminal{Width: 100, Color: true}.Render(runs), "on \x1b[31mMonday\x1b[0m.")
}

func TestTerminalKeepsItsWidth(t *testing.T) {
	left := strings.Repeat("\u4e2d\u6587", 60) + " " + strings.Repeat("x", 100) + " one two"
	for _, width := range []int{0, 61, 80, 133} {
		for _, color := range []bool{false, true} {
			out := Terminal{Width: width, Color: color}.Render(Align(left, "three "+left[:90], nil))
			for line := range strings.Lines(out) {
				require.LessOrEqual(t, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")),
					max(width, leastWidth), line)
			}
		}
	}
}

// Texts of strangers reach neither the terminal nor the page as commands.
func TestHostileTexts(t *testing.T) {
	const evil = "<script>alert(1)</script><img src=x onerror=y> \x1b[2J\a & \u202eabc\u2066 </p></div> " +
		"\"quoted\" \u200b\x00"
	for _, other := range []string{"", evil, evil + evil, "<b>" + evil} {
		runs := Align(evil, other, nil)
		for _, out := range []string{Terminal{Width: 500, Whole: true}.Render(runs), HTML(runs, true)} {
			for _, bad := range []string{"\x1b", "\a", "\x00", "\u202e", "\u2066", "\u200b"} {
				require.NotContains(t, out, bad)
			}
			require.Contains(t, out, "U+202E")
		}
		z, words := html.NewTokenizer(strings.NewReader(HTML(runs, true))), ""
		for token := z.Next(); token != html.ErrorToken; token = z.Next() {
			switch tag, _ := z.TagName(); token {
			case html.StartTagToken, html.EndTagToken:
				require.Contains(t, []string{"div", "p", "del", "ins"}, string(tag))
			case html.TextToken:
				words += string(z.Text())
			}
		}
		require.Contains(t, words,
			"<script>alert(1)</script><img src=x onerror=y> <U+001B>[2J<U+0007> & <U+202E>abc<U+2066> </p></div> "+
				"\"quoted\" <U+200B><U+0000>")
	}
}

func TestColors(t *testing.T) {
	require.Equal(t, Terminal{Width: 80}, TerminalOf(new(strings.Builder)), "no terminal")
	for vars, want := range map[[2]string]bool{{"", "xterm-256color"}: true, {"1", "xterm-256color"}: false,
		{"", "dumb"}: false} {
		env := map[string]string{"NO_COLOR": vars[0], "TERM": vars[1]}
		require.Equal(t, want, wantsColor(func(name string) string { return env[name] }))
	}
}
