package page

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/limits"
)

// A web page has more lines than its article: menus, buttons, headlines of other articles, a footer. This
// file calls them furniture. They are recognised by their form alone: such lines are short, do not end a
// sentence, and come in runs. There is no list of phrases and nothing is learnt, so a redelivered record gets
// the same treatment as the first time, on every machine. Of furniture in whole sentences, nothing tells a
// site's sentences from the article's.
//
// Widths are in columns, of which a Chinese character takes two. The numbers are those of package limits.

// bodyScratch holds the lines of one text.
type bodyScratch struct {
	lines  []textLine
	widths []int
	known  lineSet
}

// appendBody appends the lines of a clean text that belong to its article, with line ends. s.lines are the lines
// of the text. It leaves out repeated lines, code, and runs of at least limits.FurnitureLines furniture lines that
// are no table. See judge for a text that is hardly more than that.
//
// whole says that nothing is left out. Then nothing is appended, and the caller uses the clean text itself.
// Time is linear in the length of the text, except that the widths of its lines are sorted.
func (s *bodyScratch) appendBody(dst []byte, clean string) (out []byte, whole bool) {
	if len(s.lines) < limits.FurnitureLines {
		return dst, true
	}
	gone := s.markRepeats(clean)
	gone = s.markCode(clean) || gone
	s.markRuns()
	s.markIslands()
	switch s.judge() {
	case isFurnitureOnly:
		return dst, false
	case isList:
		if !gone {
			return dst, true
		}
		for i := range s.lines {
			s.lines[i].keep = !s.lines[i].gone
		}
	}
	for _, l := range s.lines {
		if l.keep {
			dst = append(append(dst, clean[l.start:l.end]...), '\n')
		}
	}
	return dst, false
}

// markRuns marks the lines of furniture runs as left out.
func (s *bodyScratch) markRuns() {
	for i := 0; i < len(s.lines); {
		end := i + 1
		if s.lines[i].kind != proseLine {
			for end < len(s.lines) && s.lines[end].kind != proseLine {
				end++
			}
			if run := s.lines[i:end]; isFurniture(run) {
				for j := range run {
					run[j].keep = false
				}
			}
		}
		i = end
	}
}

// isFurniture tells whether a run of lines, none of them prose, is no part of the article.
func isFurniture(run []textLine) bool {
	furniture, digits := 0, 0
	for i := range run {
		furniture += count(run[i].kind == furnitureLine)
		digits += count(run[i].digit)
	}
	return furniture >= limits.FurnitureLines && float64(digits) < limits.MostLines*float64(len(run))
}

// withoutFurniture returns a clean text, whose lines unwrapped has found, without the lines around the article.
func (f *Finder) withoutFurniture(clean string) string {
	body, whole := f.lines.appendBody(f.body[:0], clean)
	if whole {
		return clean
	}
	f.body = body
	return string(body)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// markIslands marks small groups of kept lines between furniture as left out, if another group is larger.
func (s *bodyScratch) markIslands() {
	largest := 0
	for island := range s.islands() {
		largest = max(largest, widthOf(island))
	}
	for island := range s.islands() {
		if w := widthOf(island); w < limits.LongLine && w < largest {
			for i := range island {
				island[i].keep = false
			}
		}
	}
}

// islands iterates over the groups of kept lines that stand in a row.
func (s *bodyScratch) islands() func(yield func([]textLine) bool) {
	return func(yield func([]textLine) bool) {
		for i := 0; i < len(s.lines); {
			end := i
			for end < len(s.lines) && s.lines[end].keep {
				end++
			}
			if end > i && !yield(s.lines[i:end]) {
				return
			}
			i = end + 1
		}
	}
}

func widthOf(lines []textLine) int {
	sum := 0
	for i := range lines {
		sum += lines[i].width
	}
	return sum
}

// judge says what of the text is its article, now that furniture is marked. Where more than a little was
// marked, the rest is an article only if it is long, or of middle length in several lines: an introduction or
// a disclaimer is shorter, and what looks like furniture is the article. A little is less than half of the
// rest. Where hardly anything is left and the lines are not alike, the page is nothing but furniture.
func (s *bodyScratch) judge() verdict {
	s.widths = s.widths[:0]
	left, lines, out := 0, 0, 0
	for i := range s.lines {
		switch l := &s.lines[i]; {
		case l.keep:
			left += l.width
			lines += count(l.width >= limits.ShortLine)
		case !l.gone:
			out += l.width
			s.widths = append(s.widths, l.width)
		}
	}
	if 2*left >= limits.BodyColumns && lines >= limits.FurnitureLines {
		left *= 2
	}
	n := len(s.widths)
	switch {
	case n == 0:
		return isList
	case out <= left/2 || left >= limits.BodyColumns:
		return hasBody
	}
	slices.Sort(s.widths)
	if left >= limits.LongLine || s.widths[n*4/5] <= 2*s.widths[n/3] {
		return isList
	}
	return isFurnitureOnly
}

type verdict uint8

const (
	hasBody         verdict = iota // the lines that are kept are the article
	isList                         // all lines are
	isFurnitureOnly                // none is
)

// textLine is a line of a clean text.
type textLine struct {
	start, end int // where in the text, without the line end
	width      int // in columns: Han, kana, Hangul and full width take two
	kind       lineKind
	digit      bool // the line has a digit
	keep       bool // the line is part of the article
	second     int  // the next line that is equal, for the first of them; 0: none
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
	s.lines = s.lines[:0]
	for start := 0; start < len(clean); {
		end := len(clean)
		if n := strings.IndexByte(clean[start:], '\n'); n >= 0 {
			end = start + n
		}
		l := textLine{start: start, end: end, keep: true}
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
		l.width += bits.OnesCount64(begins) + bits.OnesCount64(wide)
		noDigit := eight | ((low ^ '0'*eachByte) + (0x80-10)*eachByte)
		l.digit = l.digit || noDigit&highBits != highBits
	}
	if l.width >= limits.LongLine {
		return // prose
	}
	switch last, dots := lastMark(text); {
	case last == '!' || last == '?' || dots:
		l.kind = weakLine
	case last == ',' || last == ';' || last == '、' || unicode.Is(unicode.STerm, last):
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
