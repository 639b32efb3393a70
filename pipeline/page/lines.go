package page

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"

	"echosieve/pipeline/limits"
)

// shortLine is the width from which a line that ends a sentence is prose in a document, and from which a line can be
// wrapped.
const shortLine = limits.LongLine / 3

// bodyScratch holds the lines of one text.
type bodyScratch struct {
	lines  []textLine
	widths []int32
}

// textLine is a line of a clean text. It is small: a text may have a line for each two bytes.
type textLine struct {
	start, end int32 // where in the text, without the line end
	width      int32 // in columns: Han, kana, Hangul and full width take two
	kind       lineKind
	digit      bool // the line has a digit
	keep       bool // the line is part of the article
	code       bool // see isCode
	gone       bool // the line is left out whatever the others are: a repeat, or code
}

type lineKind uint8

const (
	proseLine lineKind = iota // ends a sentence, continues one, or is long
	// ends as both sentences and headlines end: part of a run, but not furniture by itself.
	weakLine
	furnitureLine // short, and does not end a sentence
)

// split finds the lines and measures each by itself. All are kept so far.
func (s *bodyScratch) split(clean string) {
	s.lines = slices.Grow(s.lines[:0], 1+strings.Count(clean, "\n"))
	for start := 0; start < len(clean); {
		end := len(clean)
		if n := strings.IndexByte(clean[start:], '\n'); n >= 0 {
			end = start + n
		}
		l := textLine{start: int32(start), end: int32(end), keep: true}
		l.measure(clean[start:end])
		s.lines = append(s.lines, l)
		start = end + 1
	}
}

const (
	eachByte = 0x0101010101010101 // times a byte: that byte eight times
	highBits = 0x80 * eachByte
)

// measure sets the fields of a line that follow from its own text. It reads eight bytes at a time: in a sum, the
// highest bit of each byte says whether the byte is at least some value.
func (l *textLine) measure(text string) {
	width, noDigit := 0, uint64(highBits)
	for rest := text; rest != ""; {
		eight := uint64(highBits) // bytes that begin no character
		if len(rest) >= 8 {
			eight, rest = binary.LittleEndian.Uint64([]byte(rest[:8])), rest[8:]
		} else {
			for i := range len(rest) {
				eight = eight<<8 | uint64(rest[i])
			}
			rest = ""
		}
		begins := highBits &^ (eight &^ (eight << 1))
		low := eight &^ highBits
		// E3 to ED, which begin U+3000 to U+DFFF
		wide := eight & (low + (0x80-0x63)*eachByte) &^ (low + (0x80-0x6e)*eachByte) & highBits
		width += bits.OnesCount64(begins | wide>>1)
		noDigit &= eight | ((low ^ '0'*eachByte) + (0x80-10)*eachByte)
	}
	l.width, l.digit = int32(width), noDigit != highBits
	if l.width >= limits.LongLine {
		return // prose
	}
	switch last, dots := lastMark(text); {
	case last == '!' || last == '?' || dots:
		l.kind = weakLine
	case last == ':' && l.width >= shortLine, last == ',' || last == ';' || last == '、' || unicode.Is(unicode.STerm, last):
		l.kind = proseLine
	default:
		l.kind = furnitureLine
	}
}

// lastMark returns the last character of a line that is no closing quotation mark or bracket and no space.
// dots says that the line ends with two full stops or more.
func lastMark(text string) (last rune, dots bool) {
	for len(text) > 0 {
		r, size := utf8.DecodeLastRuneInString(text)
		if r != ' ' && r != '"' && r != '\'' && r != '*' && r != '_' && r != '`' && r != '|' &&
			!unicode.In(r, unicode.Pe, unicode.Pf, unicode.Pi) {
			return r, strings.HasSuffix(text, "..")
		}
		text = text[:len(text)-size]
	}
	return 0, false
}

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
	for i := range s.lines {
		l := &s.lines[i]
		f.joined = append(f.joined, clean[l.start:l.end]...)
		if i+1 == len(s.lines) {
			break
		}
		follows := &s.lines[i+1]
		next := clean[follows.start:follows.end]
		if !isFull(l.width, full) || next == "" {
			f.joined = append(f.joined, '\n')
			continue
		}
		f.joined = appendJoint(f.joined, next)
	}
	text := string(f.joined)
	s.split(text)
	return text
}

// wrappedAt returns the width at which the paragraphs of a text are wrapped, 0 if they are not. Hardly a line
// is wider, and most of the lines that are at least half as wide are nearly as wide and end no sentence.
// Menus and other short lines do not count.
func (s *bodyScratch) wrappedAt() int32 {
	s.widths = s.widths[:0]
	for i := range s.lines {
		if w := s.lines[i].width; w >= shortLine {
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

func isFull(width, full int32) bool { return float64(width) >= limits.FullLine*float64(full) }

// appendJoint appends what stands between a line and the next one of its paragraph: nothing between two
// Chinese characters, otherwise a space.
func appendJoint(text []byte, next string) []byte {
	last, _ := utf8.DecodeLastRune(text)
	first, _ := utf8.DecodeRuneInString(next)
	if last >= 0x2e80 && first >= 0x2e80 && !isHangul(last) && !isHangul(first) {
		return text
	}
	return append(text, ' ')
}

func isHangul(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }

// cutSentence returns the length of the first sentence of a clean text: up to and including its end mark and
// the quotation marks and brackets that close with it, or up to the line end, without it. The length is 0 if
// the text begins with a line end.
//
// A full stop ends a sentence only before white space: "3.5" and "example.com" stay whole. "mr. smith" is cut
// in two, everywhere alike.
func cutSentence(clean string) int {
	passed := 0 // end of the last run of marks in which a full stop ended nothing: no other full stop of the run does
	for i := 0; i < len(clean); {
		switch c := clean[i]; {
		case mayEnd[c] == 0:
			i = nextEnd(clean, i+1)
		case c == '\n':
			return i
		case c == '.' && i >= passed:
			end := skipClosing(clean, i+1)
			if end == len(clean) || clean[end] == ' ' || clean[end] == '\n' {
				return end
			}
			passed = end
			i++
		case c == '!' || c == '?':
			return skipClosing(clean, i+1)
		case c == '.':
			i++
		default:
			r, size := utf8.DecodeRuneInString(clean[i:])
			i += size
			if endMarks.has(r) || r >= maxBMP && unicode.Is(unicode.STerm, r) {
				return skipClosing(clean, i)
			}
		}
	}
	return len(clean)
}

// charSet has a bit for each of its characters below maxBMP.
type charSet [maxBMP / 64]uint64

const maxBMP = 1 << 16

func newCharSet(tables ...*unicode.RangeTable) *charSet {
	set := new(charSet)
	rangetable.Visit(rangetable.Merge(tables...), func(r rune) {
		if r < maxBMP {
			set[r/64] |= 1 << (r % 64)
		}
	})
	return set
}

func (s *charSet) has(r rune) bool { return r < maxBMP && s[r/64]>>(r%64)&1 != 0 }

var (
	endMarks = newCharSet(unicode.STerm)
	closing  = newCharSet(unicode.Pe, unicode.Pf, rangetable.New([]rune(`.!?"'。`)...)) // none is beyond maxBMP
)

// nextEnd returns the index, from i on, of the first byte that may end a sentence, or the length of the text. It looks
// at four bytes at a time, which takes a quarter fewer instructions than single bytes.
func nextEnd(clean string, i int) int {
	for ; i+4 <= len(clean); i += 4 {
		if c := clean[i : i+4]; mayEnd[c[0]]|mayEnd[c[1]]|mayEnd[c[2]]|mayEnd[c[3]] != 0 {
			break
		}
	}
	for i < len(clean) && mayEnd[clean[i]] == 0 {
		i++
	}
	return i
}

// mayEnd is 1 for each byte that begins a character that can end a sentence, otherwise 0. Scripts without end marks of
// their own, such as Latin, Greek, Cyrillic, Han and Hangul, have four.
var mayEnd = func() (may [256]uint8) {
	for c := range may {
		if c == '\n' || c == '.' || c == '!' || c == '?' || c >= 0xd8 && (c < 0xe4 || c > 0xed) {
			may[c] = 1
		}
	}
	return may
}()

// skipClosing returns the index after the end marks, quotation marks and brackets that stand at i.
func skipClosing(clean string, i int) int {
	for i < len(clean) {
		r, size := utf8.DecodeRuneInString(clean[i:])
		if !closing.has(r) {
			break
		}
		i += size
	}
	return i
}

// SentencesOf iterates over the sentences of a text, clean or as people read it. start and end say where a sentence
// stands in the text.
func SentencesOf(clean string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(clean); {
			if clean[i] == ' ' || clean[i] == '\n' {
				i++
				continue
			}
			n := cutSentence(clean[i:])
			if !yield(i, i+n) {
				return
			}
			i += n
		}
	}
}
