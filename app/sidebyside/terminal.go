package sidebyside

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"echosieve/app/visible"
)

// Terminal says how a terminal shows two texts.
type Terminal struct {
	Width int  // of the terminal, in columns; at least leastWidth is used
	Color bool // marks differences in red and green; otherwise with [-left-] and {+right+}
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
func (t Terminal) Render(runs []Run) string {
	width := (max(t.Width, leastWidth) - len(separator)) / 2
	var b strings.Builder
	for _, r := range rowsOf(runs, t.Whole) {
		if r.leftOut > 0 {
			b.WriteString(r.note() + "\n")
			continue
		}
		left, right := t.wrap(r.left, leftMarks, width), t.wrap(r.right, rightMarks, width)
		for i := range max(len(left), len(right)) {
			var l, r line
			if i < len(left) {
				l = left[i]
			}
			if i < len(right) {
				r = right[i]
			}
			b.WriteString(strings.TrimRight(l.text+strings.Repeat(" ", width-l.width)+separator+r.text, " ") + "\n")
		}
	}
	return b.String()
}

// marks stand around a difference.
type marks struct{ open, close, color string }

var (
	leftMarks  = marks{"[-", "-]", "\x1b[31m"}
	rightMarks = marks{"{+", "+}", "\x1b[32m"}
)

const colorEnd = "\x1b[0m"

// line is one line of a column. Its width does not count the escape sequences of colors.
type line struct {
	text  string
	width int // columns
}

// wrap lays out the pieces of one side in lines of at most width columns. A difference that goes on in the
// next line is marked in both.
func (t Terminal) wrap(pieces []piece, m marks, width int) []line {
	lines := []line{{}}
	for _, p := range pieces {
		switch {
		case !p.differ:
			lines = fill(lines, p.text, width, func(s string) string { return s })
		case t.Color:
			lines = fill(lines, p.text, width, func(s string) string { return m.color + s + colorEnd })
		default:
			body := strings.TrimRight(p.text, " ")
			lines = fill(lines, m.open+body+m.close+p.text[len(body):], width, func(s string) string { return s })
		}
	}
	return lines
}

// fill appends a text to the last of the lines, and begins new lines between words. A word that is wider than
// a line is broken.
func fill(lines []line, s string, width int, style func(string) string) []line {
	add := func(s string) {
		if s == "" {
			return
		}
		last := &lines[len(lines)-1]
		last.text += style(s)
		last.width += widthOf(s)
	}
	for s != "" {
		word, spaces, rest := nextWord(s)
		s = rest
		if before := lines[len(lines)-1].width; before > 0 && before+widthOf(word) > width {
			lines = append(lines, line{})
		}
		for widthOf(word) > width {
			head := text.Snip(word, width, "")
			add(head)
			word = word[len(head):]
			lines = append(lines, line{})
		}
		add(word)
		if before := lines[len(lines)-1].width; before > 0 && before+len(spaces) <= width {
			add(spaces)
		}
	}
	return lines
}

// nextWord returns the beginning of a text behind which a line may end, and the spaces that follow it. A line
// may end before a space, and behind a character that is as wide as Chinese ones.
func nextWord(s string) (word, spaces, rest string) {
	end := strings.IndexByte(s, ' ')
	if end < 0 {
		end = len(s)
	}
	for i, r := range s[:end] {
		if r >= 0x2e80 && text.RuneWidth(r) > 1 {
			end = i + utf8.RuneLen(r)
			break
		}
	}
	rest = strings.TrimLeft(s[end:], " ")
	return s[:end], s[end : len(s)-len(rest)], rest
}

// widthOf is the width of a text without escape sequences, in columns. text.StringWidth also searches for
// such sequences: with it, two texts of 1 MB take 10 seconds more.
func widthOf(s string) int {
	width := 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			width++
		} else {
			width += text.RuneWidth(r)
		}
	}
	return width
}
