package sidebyside

import (
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"echosieve/pipeline/changes"
	"echosieve/test/host"
)

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
				runs := changes.Align(left, right, strings.ToLower)
				Terminal{Width: 80, Whole: true}.Render(runs)
				HTML(runs, true)
			}
		}
		growth := host.Ratio(t, 50*time.Millisecond, 24, show(128<<10), show(1<<20))
		require.Less(t, growth, 24.0, "%s: 1 MiB takes so many times as long as 128 KiB", name)
	}
}

const (
	old     = "A fire broke out on Monday.\nNobody was hurt.\nThe cause is unknown.\nPolice closed 2 roads.\n"
	revised = "A fire broke out on Tuesday night.\nNobody was hurt.\nThe cause is unknown.\nPolice closed 2 roads.\n"
)

func TestTerminal(t *testing.T) {
	runs := changes.Align(old, revised, nil)
	require.Equal(t, `A fire broke out on          | A fire broke out on
[-Monday-].                  | {+Tuesday night+}.
Nobody was hurt.             | Nobody was hurt.
... 2 lines the same
`, Terminal{Width: 60}.Render(runs))
	require.Contains(t, Terminal{Width: 100, Whole: true}.Render(runs),
		"Police closed 2 roads.                           | Police closed 2 roads.\n")
	require.Contains(t, Terminal{Width: 100}.Render(changes.Align(strings.ToUpper(old), revised, strings.ToLower)),
		"... 2 lines the same")
	require.Contains(t, Terminal{Width: 100, Color: true}.Render(runs), "on \x1b[31mMonday\x1b[0m.")
}

func TestTerminalKeepsItsWidth(t *testing.T) {
	left := strings.Repeat("\u4e2d\u6587", 60) + " " + strings.Repeat("x", 100) + " one two"
	for _, width := range []int{0, 61, 80, 133} {
		for _, color := range []bool{false, true} {
			out := Terminal{Width: width, Color: color}.Render(changes.Align(left, "three "+left[:90], nil))
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
		runs := changes.Align(evil, other, nil)
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
				require.Contains(t, []string{"div", "p", "del", "ins", "s"}, string(tag))
			case html.TextToken:
				words += string(z.Text())
			}
		}
		require.Contains(t, words,
			"<script>alert(1)</script><img src=x onerror=y> <U+001B>[2J<U+0007> & <U+202E>abc<U+2066> </p></div> "+
				"\"quoted\" <U+200B><U+0000>")
	}
}

// What a publisher repeats is shown, greyed, though it is the same and next to no difference.
func TestRepeatedSentencesAreGreyed(t *testing.T) {
	repeated := changes.Side{Text: "Alpha beta. Gamma.\nDelta.\nRead this too.\nEnd.", Repeated: map[string]bool{
		"Read this too.": true}}
	other := changes.Side{Text: "Alpha beta. Gamma.\nDelta.\nRead this too.\nEnd."}
	runs := changes.AlignSides(repeated, other, strings.Clone)
	require.Equal(t, "<div class=\"sidebyside\">\n<p class=\"same\">... 3 lines the same</p>\n"+
		"<p class=\"left\" dir=\"auto\"><s>Read this too. </s></p>\n<p class=\"right\" dir=\"auto\">Read this too. </p>\n"+
		"<p class=\"same\">... 1 line the same</p>\n</div>\n", HTML(runs, false))
	require.Contains(t, HTML(changes.AlignSides(repeated, changes.Side{Text: "Alpha"}, strings.Clone), false),
		"<s><del>Read this too. </del></s>")
	require.Contains(t, Terminal{Width: 60, Color: true}.Render(runs),
		text.Faint.EscapeSeq()+"Read this too."+text.EscapeReset)
	require.Contains(t, Terminal{Width: 60}.Render(runs), "Read this too.               | Read this too.")
}

func TestColors(t *testing.T) {
	require.Equal(t, Terminal{Width: 80}, TerminalOf(new(strings.Builder)), "no terminal")
	for vars, want := range map[[2]string]bool{{"", "xterm-256color"}: true, {"1", "xterm-256color"}: false,
		{"", "dumb"}: false} {
		env := map[string]string{"NO_COLOR": vars[0], "TERM": vars[1]}
		require.Equal(t, want, wantsColor(func(name string) string { return env[name] }))
	}
}
