package page

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A web page has more lines than its article: menus, buttons, headlines of other articles, a footer. This file calls them furniture. They
// are recognised by their form alone: such lines are short, do not end a sentence, and come in runs. There is no list of phrases and
// nothing is learnt, so a redelivered record gets the same treatment as the first time, on every machine. Of furniture in whole sentences,
// nothing tells a site's sentences from the article's.
//
// Widths are in columns, of which a Chinese character takes two. All numbers below decide about fingerprints: after a change of one of
// them, raise the recipe's version.
const (
	// minFurniture is the least number of furniture lines in a run that is left out. A headline, a byline and a place are three lines at
	// most. Raised, short menus stay; lowered, the heads of articles are lost.
	minFurniture = 4

	// If less than littleBody columns (a paragraph), or less than one part in littleShare of the text, is left, hardly anything is left. The
	// text may then be an article of short lines, and keepsAll decides. Raised, more pages without an article are kept whole.
	littleBody  = 120
	littleShare = 6
	// fewLines is the number of furniture lines below which such a text is a brief and is kept whole.
	fewLines = 12
	// Such a text is also kept whole if its lines are alike, as in a list or a poem: the line at four fifths of the lines, sorted by width,
	// is at most alike times as wide as the line at one fifth, or the line at three quarters at most alikeHalf times as wide as the line at
	// one quarter. Menus, buttons and headlines vary more.
	alike     = 2
	alikeHalf = 1.6
	// Such a text is also kept whole if at least the share littleTableShare of its lines has a digit (prices, a programme), or if at least
	// the share stopShare ends with a comma or full stop (a text with few words in a line).
	littleTableShare = 0.33
	stopShare        = 0.05

	// tableShare is the least share of lines with a digit in a run that is a table, and is kept: results, prices. Raised, tables with
	// lines of names are lost; lowered, lists of dated headlines stay.
	tableShare = 0.6

	// Text wrapped at a width also has short lines without an end of a sentence. At least minWrapped lines in a row, at least wrapWidth
	// wide, are wrapped text if each fills the share justified of the widest. If each fills only the share wrapFill, the lines must be
	// more than minWrapped or at least wideLine wide, and the share markedShare of them must have a comma within, which menus lack.
	minWrapped  = 3
	wrapWidth   = 30
	justified   = 0.93
	wrapFill    = 0.85
	wideLine    = 100
	markedShare = 0.3
	// The whole text is wrapped if at least the share allShare of its lines fills the share allFill of the widest line.
	allShare = 0.6
	allFill  = 0.75

	// A group of sentences beside furniture, such as a notice about cookies, is furniture, too, if its lines together are less than
	// islandWidth wide and another group is more than islandTimes as wide. Raised, the first paragraphs of short articles are lost.
	islandWidth = 240
	islandTimes = 4
)

// bodyScratch holds the lines of one text.
type bodyScratch struct {
	lines  []textLine
	widths []int
}

// appendBody appends the lines of a clean text that belong to its article, with line ends. It leaves out runs of at least minFurniture
// furniture lines, unless a run is a table or text wrapped at a width. If hardly anything is left then, the text may be a list, a poem, a
// table or a brief, and stays whole; otherwise the page is nothing but furniture, and its body is the little that is left.
//
// whole says that nothing is left out. Then nothing is appended, and the caller uses the clean text itself. Time is linear in the length of
// the text, except that the widths of its lines are sorted.
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

// isWrapped tells whether the whole text is wrapped at a width: most of its lines are nearly as wide as the widest.
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

// markRuns marks the lines of furniture runs as left out.
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

// markWrapped marks lines in a row that are about equally wide as prose, because they are text wrapped at a width.
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

// equallyWide counts the lines from the first line on as long as the narrowest of them fills a share of the widest. marked counts the lines
// among them that have a comma within. It looks at no more than 50 lines, so that a text of a million lines takes linear time.
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

// withoutFurniture returns a clean text without the lines around the article.
func (f *Finder) withoutFurniture(clean string) string {
	body, whole := f.lines.appendBody(f.body[:0], clean)
	if whole {
		return clean
	}
	f.body = body
	return string(body)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// markIslands marks small groups of kept lines between furniture as left out, if another group is much larger (see islandWidth).
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

// keepsAll tells whether the text stays whole, because it has no furniture or because the lines that look like furniture are the article.
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
	longLine      = 160 // from this width on a line is part of the article, whatever it ends with: headlines are shorter
	longThai      = 60  // the same for Thai and Lao, which do not mark the ends of sentences
	shortSentence = 24  // below this width a line with a full stop may be a copyright notice
	shortExclaim  = 80  // below this width a line with "!", "?" or "..." may be a headline or a comment
)

// textLine is a line of a clean text.
type textLine struct {
	start, end int // where in the text, without the line end
	width      int // in columns: Han, kana, Hangul and full width take two
	kind       lineKind
	digit      bool // the line has a digit
	marked     bool // the line has a comma within, other than between digits, or an ideographic full stop
	stops      bool // the line ends with a comma or full stop
	keep       bool // the line is part of the article
}

type lineKind uint8

const (
	proseLine     lineKind = iota // ends a sentence, continues one, or is long
	weakLine                      // ends as both sentences and headlines end: part of a run, but not furniture by itself
	furnitureLine                 // short, and does not end a sentence
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

// lineBytes holds, by the first byte of a character, the columns that the character takes and whether it may be a digit or a mark.
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

// isMarked tells whether a line has a comma within, other than between digits, or an ideographic full stop.
func isMarked(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == ',' && !isDigit(text[i+1]) || text[i] == 0xe3 && i+3 < len(text) && text[i:i+3] == "。" {
			return true
		}
	}
	return false
}

// measure sets the fields of a line that follow from its own text.
func (l *textLine) measure(text string) {
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

// lastMark returns the last character of a line that is no closing quotation mark or bracket and no space. dots says that the line ends
// with two full stops or more.
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
