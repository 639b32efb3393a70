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
			line := strings.Repeat(" ", width) + separator
			if i < len(left) {
				line = left[i] + separator
			}
			if i < len(right) {
				line += right[i]
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
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

// wrap lays out the pieces of one side in lines of at most width columns, each filled up with spaces. A difference that
// goes on in the next line is marked in both.
func (t Terminal) wrap(pieces []piece, m marks, width int) []string {
	c := column{width: width}
	for _, p := range pieces {
		switch c.color = ""; {
		case !p.differ:
			c.add(p.text)
		case t.Color:
			c.color = m.color
			c.add(p.text)
		default:
			body := strings.TrimRight(p.text, " ")
			c.add(m.open + body + m.close + p.text[len(body):])
		}
	}
	c.end()
	return c.lines
}

// column lays out text in lines.
type column struct {
	width int
	color string // of what is added; empty: none
	lines []string
	line  strings.Builder // under way
	part  strings.Builder // of one color, which goes onto the line
	used  int             // columns of the line with its part. Escape sequences take none
}

// add adds a text. A line ends between words or before a character as wide as Chinese ones; a word that is wider than a
// line is broken.
func (c *column) add(s string) {
	start, columns := 0, 0 // of the word
	for i, r := range s {
		wide := text.RuneWidth(r)
		columns += wide
		if end := i + utf8.RuneLen(r); r == ' ' || r >= 0x2e80 && wide > 1 || end == len(s) {
			c.addWord(s[start:end], columns)
			start, columns = end, 0
		}
	}
	c.endPart()
}

// addWord adds a word with the space behind it. A space begins no line.
func (c *column) addWord(word string, columns int) {
	body := strings.TrimSuffix(word, " ")
	if c.used > 0 && c.used+columns-len(word)+len(body) > c.width {
		c.end()
	}
	for _, r := range body {
		wide := text.RuneWidth(r)
		if c.used+wide > c.width {
			c.end()
		}
		c.part.WriteRune(r)
		c.used += wide
	}
	if len(body) < len(word) && c.used > 0 && c.used < c.width {
		c.part.WriteByte(' ')
		c.used++
	}
}

func (c *column) endPart() {
	if c.color != "" && c.part.Len() > 0 {
		c.line.WriteString(c.color + c.part.String() + colorEnd)
	} else {
		c.line.WriteString(c.part.String())
	}
	c.part.Reset()
}

func (c *column) end() {
	c.endPart()
	c.lines = append(c.lines, c.line.String()+strings.Repeat(" ", c.width-c.used))
	c.line.Reset()
	c.used = 0
}
