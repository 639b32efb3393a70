// Package visible makes text of strangers safe to print: ids, titles and URLs of crawlers, header values,
// names of keys, and errors that quote them. Such text can hold commands for a terminal (ESC, C1 controls),
// turn round the direction of what follows, hide characters, or forge a line of output with a line end.
//
// Line is for a text that stands in a line of ours, and Sprintf makes such a line. Error is for errors.
// Commands write through a Writer, so that a text for which Line was forgotten controls no terminal either.
// JSON keeps the text as it is for programs.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Line returns a text as one line in which nothing is hidden: every run of white space becomes a space, and
// every control character and invisible character its number, such as <U+202E>.
func Line(text string) string {
	if isPlain(text, false) {
		return text
	}
	var b strings.Builder
	space := false
	for _, r := range text { // bytes that are not UTF-8 are read as U+FFFD
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		write(&b, r)
	}
	return b.String()
}

// Sprintf is fmt.Sprintf with Line of every argument that is a string, an error or a fmt.Stringer. The format
// itself is kept as it is.
func Sprintf(format string, args ...any) string {
	shown := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			shown[i] = Line(v)
		case error:
			shown[i] = Line(v.Error())
		case fmt.Stringer:
			shown[i] = Line(v.String())
		default:
			shown[i] = a
		}
	}
	return fmt.Sprintf(format, shown...)
}

// write writes a character, or its number if it is not to be seen.
func write(b *strings.Builder, r rune) {
	if hidden(r) {
		fmt.Fprintf(b, "<U+%04X>", r)
	} else {
		b.WriteRune(r)
	}
}

// hidden says whether a character is invisible or controls something: all of Unicode's category C, which has
// controls, formats and characters that are not assigned, and the separators of lines and paragraphs.
func hidden(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }

// isPlain says whether a text is of ASCII that can be seen, with single spaces and, with lines, line ends.
func isPlain(text string, lines bool) bool {
	last := byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case lines && c == '\n':
		case c < ' ', c > '~', !lines && c == ' ' && last == ' ':
			return false
		}
		last = c
	}
	return true
}

// JSON returns JSON with all hidden characters in its strings written as \u202e. Programs read the same text
// from it, and it can be shown on a terminal.
func JSON(data []byte) []byte {
	text := string(data)
	if isPlain(text, true) {
		return data
	}
	var b strings.Builder
	for _, r := range text {
		if !hidden(r) || r == '\n' || r == '\t' || r == '\r' { // between the values; within strings they are escaped already
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return []byte(b.String())
}

// Error returns the text of an error as lines: one line each of the errors that errors.Join has joined, in
// which nothing is hidden. A line end that belongs to a quoted text becomes a space.
func Error(err error) string {
	text := err.Error()
	switch e := err.(type) { //nolint:errorlint // the chain is followed link by link
	case interface{ Unwrap() []error }:
		var texts, lines []string
		for _, part := range e.Unwrap() {
			texts, lines = append(texts, part.Error()), append(lines, Error(part))
		}
		if text == strings.Join(texts, "\n") {
			return strings.Join(lines, "\n")
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			if before, after, found := strings.Cut(text, inner.Error()); found {
				return Line(before) + Error(inner) + Line(after)
			}
		}
	}
	return Line(text)
}

// Count is a number with its unit: "1 copy", "2 copies", "0 bits".
func Count[N int | int32 | int64 | uint64](n N, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	if stem, ok := strings.CutSuffix(unit, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
