package recipe

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A web page has more lines than its article: menus, buttons, headlines of other articles, a footer. This file calls them furniture.
// They are told from the article by their form alone, without a list of phrases: such lines are short, do not end a sentence, and
// come in runs (boilerplate_line.go looks at single lines). Furniture in whole sentences cannot be told so.
const (
	// minFurniture is the number of such lines in a row from which they are no part of the article: a headline, a byline and a
	// place come in fewer.
	minFurniture = 4
	// littleBody is the width in columns below which what is left is less than a paragraph. One in littleShare of the text is little, too.
	littleBody, littleShare = 120, 6
	// fewLines is the number of lines below which nothing is left out of a text from which hardly anything else is left: a brief.
	fewLines = 12
	// alike is how many times as wide a wide line of a list or a poem is as a narrow one, of five; alikeHalf is the same of the middle
	// half. Menus, buttons and headlines vary more.
	alike, alikeHalf = 2, 1.6
	// tableShare is the share, one in so many, of lines with a digit from which a run is a table, and so is a text if hardly anything
	// else is left: results, prices, a programme. stopShare is the same for lines that end with a comma or full stop: a text with few
	// words in a line.
	tableShare, littleTableShare, stopShare = 0.6, 0.33, 0.05
	// minWrapped is the number of lines in a row that make a text wrapped at a width, wrapWidth the least such width in columns. Each
	// line fills justified of it; or wrapFill, if the lines are four or wide (wideLine) and a share of markedShare has a comma within.
	minWrapped, wrapWidth, justified = 3, 30, 0.93
	wrapFill, wideLine, markedShare  = 0.85, 100, 0.3
	// A share of allShare of lines that fill allFill of the widest makes the whole text wrapped.
	allShare, allFill = 0.6, 0.75
	// islandWidth is the width of sentences between furniture below which they are furniture too, such as a notice of cookies, if
	// elsewhere are islandTimes as many.
	islandWidth, islandTimes = 240, 4
)

// bodyScratch holds the lines of one text.
type bodyScratch struct {
	lines  []textLine
	widths []int
}

// appendBody appends the lines of a clean text that belong to its article, with line ends. A run of at least minFurniture lines that
// are short and do not end a sentence is left out, unless it is a table or text wrapped at a width. If hardly anything else is left,
// all stays if the text may be a list, a poem, a table or a brief; else the page is nothing but furniture, and its body is what is left.
//
// whole says that nothing is left out; then nothing is appended. Time is linear in the length of the text but for sorting its lines.
func (s *bodyScratch) appendBody(dst []byte, clean string) (out []byte, whole bool) {
	if strings.Count(clean, "\n") < minFurniture-1 {
		return dst, true
	}
	s.split(clean)
	if s.isWrapped() {
		return dst, true
	}
	s.markRuns()
	s.markIslands()
	if s.keepsAll() {
		return dst, true
	}
	for _, l := range s.lines {
		if l.keep {
			dst = append(append(dst, clean[l.start:l.end]...), '\n')
		}
	}
	return dst, false
}

// isWrapped tells whether a text as a whole is wrapped at a width: most of its lines are nearly as wide as the widest.
func (s *bodyScratch) isWrapped() bool {
	widest, full := 0, 0
	for i := range s.lines {
		widest = max(widest, s.lines[i].width)
	}
	for i := range s.lines {
		full += count(float64(s.lines[i].width) >= allFill*float64(widest))
	}
	return widest >= wrapWidth && widest < longLine && float64(full) >= allShare*float64(len(s.lines))
}

// markRuns marks the runs that are left out.
func (s *bodyScratch) markRuns() {
	markWrapped(s.lines)
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

// markWrapped makes prose of lines in a row that are about equally wide: text wrapped at a width.
func markWrapped(lines []textLine) {
	for i := 0; i < len(lines); {
		exact, _ := equallyWide(lines[i:], justified)
		ragged, marked := equallyWide(lines[i:], wrapFill)
		wide := lines[i].width >= wideLine
		n := 0
		switch {
		case lines[i].width < wrapWidth:
		case (ragged > minWrapped || ragged == minWrapped && wide) && float64(marked) >= markedShare*float64(ragged):
			n = ragged
		case exact >= minWrapped:
			n = exact
		}
		for j := range n {
			lines[i+j].kind = proseLine
		}
		i += max(n, 1)
	}
}

// equallyWide counts the lines from the first one on of which the narrowest fills a share of the widest, and those among them with a
// comma within. It looks at no more than a screen full, so that a text of a million lines takes linear time.
func equallyWide(lines []textLine, share float64) (n, marked int) {
	narrowest, widest := lines[0].width, lines[0].width
	for ; n < min(len(lines), 50); n++ {
		narrowest, widest = min(narrowest, lines[n].width), max(widest, lines[n].width)
		if float64(narrowest) < share*float64(widest) {
			break
		}
		marked += count(lines[n].marked)
	}
	return n, marked
}

// isFurniture tells whether a run of lines, none of them prose, is no part of the article.
func isFurniture(run []textLine) bool {
	furniture, digits := 0, 0
	for i := range run {
		furniture += count(run[i].kind == furnitureLine)
		digits += count(run[i].digit)
	}
	return furniture >= minFurniture && float64(digits) < tableShare*float64(len(run))
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// markIslands leaves out the few sentences that stand between furniture, if there are many elsewhere.
func (s *bodyScratch) markIslands() {
	largest := 0
	for island := range s.islands() {
		largest = max(largest, widthOf(island))
	}
	for island := range s.islands() {
		if w := widthOf(island); w < islandWidth && w*islandTimes < largest {
			for i := range island {
				island[i].keep = false
			}
		}
	}
}

// islands iterates over the runs of lines that are kept.
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

// keepsAll tells whether nothing is left out: because there is no furniture, or because what looks like it is the article.
func (s *bodyScratch) keepsAll() bool {
	s.widths = s.widths[:0]
	left, out, digits, stops := 0, 0, 0, 0
	for i := range s.lines {
		if l := &s.lines[i]; l.keep {
			left += l.width
		} else {
			out += l.width
			digits += count(l.digit)
			stops += count(l.stops)
			s.widths = append(s.widths, l.width)
		}
	}
	n := len(s.widths)
	switch {
	case n == 0:
		return true
	case left >= max(littleBody, (left+out)/littleShare):
		return false
	}
	slices.Sort(s.widths)
	return n < fewLines || s.widths[n*4/5] <= alike*s.widths[n/5] || float64(s.widths[n*3/4]) <= alikeHalf*float64(s.widths[n/4]) ||
		float64(digits) >= littleTableShare*float64(n) || float64(stops) >= stopShare*float64(n)
}

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
