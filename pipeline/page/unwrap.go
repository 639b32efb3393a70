package page

import (
	"slices"
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/limits"
)

// Some programs wrap paragraphs at a width. Their lines are short and end no sentence, but they are no
// furniture: they are joined before anything measures lines.

// unwrapped returns a clean text with its paragraphs in one line each, if it is wrapped at a width. f.lines
// then has the lines of the text returned, or none, if they are too few for furniture.
func (f *Finder) unwrapped(clean string) string {
	s := &f.lines
	if s.lines = s.lines[:0]; strings.Count(clean, "\n") < limits.FurnitureLines-1 {
		return clean
	}
	s.split(clean)
	full := s.wrappedAt()
	if full == 0 {
		return clean
	}
	f.joined = f.joined[:0]
	quoted := false
	for i := range s.lines {
		l := &s.lines[i]
		f.joined = append(f.joined, clean[l.start:l.end]...)
		if i+1 == len(s.lines) {
			break
		}
		follows := &s.lines[i+1]
		next := clean[follows.start:follows.end]
		quoted = (quoted || clean[l.start] == '>') && next[0] == '>'
		if quoted {
			next = strings.TrimLeft(next, "> ")
		}
		if !isFull(l.width, full) || next == "" || beginsItem(next) {
			f.joined = append(f.joined, '\n')
			quoted = false
			continue
		}
		follows.start = follows.end - len(next)
		f.joined = appendJoint(f.joined, next)
	}
	text := string(f.joined)
	s.split(text)
	return text
}

// wrappedAt returns the width at which the paragraphs of a text are wrapped, 0 if they are not. Hardly a line
// is wider, and most of the lines that are at least half as wide are nearly as wide and end no sentence.
// Menus and other short lines do not count.
func (s *bodyScratch) wrappedAt() int {
	s.widths = s.widths[:0]
	for i := range s.lines {
		if w := s.lines[i].width; w >= limits.ShortLine {
			s.widths = append(s.widths, w)
		}
	}
	if len(s.widths) < limits.FurnitureLines {
		return 0
	}
	slices.Sort(s.widths)
	full := s.widths[int(limits.FullLine*float64(len(s.widths)-1))]
	if full >= limits.LongLine {
		return 0
	}
	near, half, ends := 0, 0, 0
	for i := range s.lines {
		l := &s.lines[i]
		near += count(isFull(l.width, full))
		ends += count(isFull(l.width, full) && l.kind == proseLine)
		half += count(2*l.width >= full)
	}
	if float64(near) < limits.MostLines*float64(half) || 2*ends > near {
		return 0
	}
	return full
}

func isFull(width, full int) bool { return float64(width) >= limits.FullLine*float64(full) }

// beginsItem tells whether a line begins an item of a list, a heading or a quotation in Markdown.
func beginsItem(line string) bool {
	return len(line) > 1 && (line[0] == '*' || line[0] == '-' || line[0] == '+' || line[0] == '#' || line[0] == '>' ||
		line[0] == '|') &&
		(line[1] == ' ' || line[1] == line[0])
}

// appendJoint appends what stands between a line and the next one of its paragraph: nothing between two
// Chinese characters, otherwise a space. A hyphen at the end of the line goes.
func appendJoint(text []byte, next string) []byte {
	last, _ := utf8.DecodeLastRune(text)
	first, _ := utf8.DecodeRuneInString(next)
	switch {
	case last >= 0x2e80 && first >= 0x2e80 && !isHangul(last) && !isHangul(first):
		return text
	case last == '-' && len(text) > 1 && text[len(text)-2] >= 'a' && first >= 'a':
		return text[:len(text)-1]
	}
	return append(text, ' ')
}

func isHangul(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }
