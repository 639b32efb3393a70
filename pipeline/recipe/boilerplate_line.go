package recipe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Widths of lines, in columns.
const (
	longLine      = 160 // from here on a line is part of the article whatever it ends with: headlines are shorter
	longThai      = 60  // the same for scripts that do not mark the ends of sentences
	shortSentence = 24  // below, a full stop may end a copyright notice as well as a sentence
	shortExclaim  = 80  // below, "!", "?" or "..." may end a headline or a comment as well as a sentence
)

// textLine is a line of a clean text.
type textLine struct {
	start, end int // where in the text, without the line end
	width      int // in columns: Han, kana, Hangul and full width take two
	kind       lineKind
	digit      bool // there is one
	marked     bool // there is a comma within, other than between digits, or an ideographic full stop
	stops      bool // ends with a comma or full stop
	keep       bool // is part of the article
}

type lineKind uint8

const (
	proseLine     lineKind = iota // ends a sentence, continues one, or is long
	weakLine                      // ends as sentences and headlines do
	furnitureLine                 // short, without an end of a sentence
)

// split finds the lines and looks at each by itself. All are kept.
func (s *bodyScratch) split(clean string) {
	s.lines = s.lines[:0]
	for start := 0; start < len(clean); {
		end := len(clean)
		if n := strings.IndexByte(clean[start:], '\n'); n >= 0 {
			end = start + n
		}
		l := textLine{start: start, end: end, keep: true}
		l.look(clean[start:end])
		s.lines = append(s.lines, l)
		start = end + 1
	}
}

// lineBytes tells of a byte how many columns the character takes that it begins, and what it may be.
var lineBytes = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c >= '0' && c <= '9':
			table[c] = 1 | digitByte
		case c == ',':
			table[c] = 1 | markByte
		case c == 0xe3: // begins U+3000 to U+3FFF, punctuation among them
			table[c] = 2 | markByte
		case c > 0xe3 && c <= 0xed: // begins U+4000 to U+DFFF
			table[c] = 2
		case c < utf8.RuneSelf || c >= 0xc0:
			table[c] = 1
		}
	}
	return table
}()

const (
	widthMask = 3
	digitByte = 4
	markByte  = 8
)

// isMarked tells whether there is a comma in a line, other than between digits and at its end, or an ideographic full stop.
func isMarked(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == ',' && !isDigit(text[i+1]) || text[i] == 0xe3 && i+3 < len(text) && text[i:i+3] == "。" {
			return true
		}
	}
	return false
}

// look finds out about a line what its text tells.
func (l *textLine) look(text string) {
	traits := uint8(0)
	for i := range len(text) {
		t := lineBytes[text[i]]
		l.width += int(t & widthMask)
		traits |= t
	}
	l.digit = traits&digitByte != 0
	l.marked = traits&markByte != 0 && isMarked(text)
	last, dots := lastMark(text)
	switch {
	case l.width >= longLine, l.width >= longThai && unicode.In(last, unicode.Thai, unicode.Lao):
		l.kind = proseLine
	case last == '!' || last == '?' || dots:
		l.kind = weakLine
		if l.width >= shortExclaim {
			l.kind = proseLine
		}
	case last == ',' || last == ';' || last == '、' || unicode.Is(unicode.STerm, last):
		l.kind, l.stops = proseLine, true
		if l.width < shortSentence {
			l.kind = weakLine
		}
	default:
		l.kind = furnitureLine
	}
}

// lastMark is the last character of a line that is no closing quotation mark or bracket and no space. dots says that it is the last
// of two full stops or more.
func lastMark(text string) (last rune, dots bool) {
	for len(text) > 0 {
		r, size := utf8.DecodeLastRuneInString(text)
		if r != ' ' && r != '"' && r != '\'' && !unicode.In(r, unicode.Pe, unicode.Pf, unicode.Pi) {
			return r, strings.HasSuffix(text, "..")
		}
		text = text[:len(text)-size]
	}
	return 0, false
}
