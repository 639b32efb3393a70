package command

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Columns is the width that the output of every command fits. A terminal is at least that wide.
const Columns = 80

// NewTable returns a table without frames, with two spaces between its columns: so more columns fit, and text
// tools can cut them.
func NewTable(header ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header, style.Format.Footer = text.FormatDefault, text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	if len(header) > 0 {
		t.AppendHeader(header)
	}
	return t
}

// Fit breaks the lines of a text that are wider than a terminal, between words. The rest of a line is
// indented like the text behind its label, which ends with two spaces or more: "only in A     this, that".
// Words are never cut, so that paths and addresses can be copied.
func Fit(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if columnsOf(line) <= Columns {
			continue
		}
		indent := "  "
		if label := strings.Index(line, "  "); label >= 0 && label < Columns/3 {
			rest := strings.TrimLeft(line[label:], " ")
			indent = strings.Repeat(" ", columnsOf(line)-columnsOf(rest))
		}
		lines[i] = breakLine(line, indent)
	}
	return strings.Join(lines, "\n")
}

// columnsOf is the width of a text, without the sequences that color it.
var columnsOf = text.StringWidthWithoutEscSequences

// proseEnds matches the end of a line whose paragraph goes on in the next line.
var proseEnds = regexp.MustCompile(`([^\n])\n([^ \n])`)

// fitProse breaks the paragraphs of a text anew, so that their lines are as wide as a terminal. Lines that begin with a
// space are kept; an empty line follows them.
func fitProse(s string) string {
	lines := strings.Split(proseEnds.ReplaceAllString(s, "$1 $2"), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = breakLine(line, "")
		}
	}
	return strings.Join(lines, "\n")
}

// breakLine breaks a line between words, and begins each further line with indent.
func breakLine(line, indent string) string {
	var b strings.Builder
	last, column := "", 0
	for word := range strings.SplitAfterSeq(line, " ") {
		if column > len(indent) && column+columnsOf(strings.TrimRight(word, " ")) > Columns {
			b.WriteString(strings.TrimRight(last, " ") + "\n" + indent)
			last, column = "", len(indent)
		}
		last += word
		column += columnsOf(word)
	}
	return b.String() + last
}
