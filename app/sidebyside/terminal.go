package sidebyside

import (
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"echosieve/app/visible"
	"echosieve/pipeline/changes"
)

// Terminal says how a terminal shows two texts.
type Terminal struct {
	Width int // of the terminal, in columns; at least leastWidth is used
	// Color marks differences in red and green, otherwise they stand in [-left-] and {+right+}. It dims sentences that a
	// publisher repeats.
	Color bool
	Whole bool // shows the sentences that are the same as well
}

const (
	leastWidth = 40
	separator  = " | "
)

// TerminalOf returns the form for a command's output: the width of the terminal and colors, unless the
// environment refuses them (NO_COLOR, TERM=dumb); without a terminal, 80 columns without colors.
func TerminalOf(out any) Terminal {
	t := Terminal{Width: 80}
	if f, ok := visible.Terminal(out); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			t.Width = width
		}
		t.Color = wantsColor(os.Getenv)
	}
	return t
}

// wantsColor says whether the environment allows colors on a terminal. NO_COLOR (no-color.org) refuses them
// with any value but the empty one.
func wantsColor(env func(string) string) bool { return env("NO_COLOR") == "" && env("TERM") != "dumb" }

// Render returns two columns: the left text and the right text, each line with a line end.
func (t Terminal) Render(runs []changes.Run) string {
	width := (max(t.Width, leastWidth) - len(separator)) / 2
	var b strings.Builder
	for _, r := range rowsOf(runs, t.Whole) {
		if r.leftOut > 0 {
			b.WriteString(r.note() + "\n")
			continue
		}
		left, right := t.wrap(r.left, "[-", "-]", text.FgRed, width), t.wrap(r.right, "{+", "+}", text.FgGreen, width)
		n := max(len(left), len(right))
		left, right = append(left, make([]string, n-len(left))...), append(right, make([]string, n-len(right))...)
		for i := range n {
			b.WriteString(strings.TrimRight(text.Pad(left[i], width, ' ')+separator+right[i], " ") + "\n")
		}
	}
	return b.String()
}

// wrap lays out the pieces of one side in lines of at most width columns. A difference that goes on in the next line
// has its color there, too.
func (t Terminal) wrap(pieces []piece, begin, end string, color text.Color, width int) []string {
	var b strings.Builder
	for _, p := range pieces {
		body := strings.TrimRight(p.text, " ")
		switch {
		case body == "" || !p.differ && (!p.repeated || !t.Color):
			b.WriteString(p.text)
			continue
		case t.Color:
			var colors text.Colors
			if p.differ {
				colors = append(colors, color)
			}
			if p.repeated {
				colors = append(colors, text.Faint)
			}
			b.WriteString(colors.EscapeSeq() + body + text.EscapeReset)
		default:
			b.WriteString(begin + body + end)
		}
		b.WriteString(p.text[len(body):])
	}
	return strings.Split(text.WrapSoft(b.String(), width-1), "\n") // a wide character may take one column more
}
