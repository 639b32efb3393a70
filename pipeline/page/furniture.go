package page

import (
	"iter"
	"strings"
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

// withoutFurniture returns a clean text, whose lines unwrapped has found, without the lines around its article. It
// leaves out repeated lines, code, and runs of at least limits.FurnitureLines furniture lines that are no table. See
// hasBody for a text that is hardly more than that. Time is linear in the length of the text, except that the widths of
// its lines are sorted.
func (f *Finder) withoutFurniture(clean string) string {
	s := &f.lines
	if len(s.lines) < limits.FurnitureLines {
		return clean
	}
	gone := s.markRepeats(clean)
	gone = s.markCode(clean) || gone
	s.markRuns(clean)
	s.markIslands()
	if !s.hasBody() {
		if !gone {
			return clean
		}
		for i := range s.lines {
			s.lines[i].keep = !s.lines[i].gone
		}
	}
	f.body = f.body[:0]
	for _, l := range s.lines {
		if l.keep {
			f.body = append(append(f.body, clean[l.start:l.end]...), '\n')
		}
	}
	return string(f.body)
}

// runs iterates over the lines that stand in a row and are something, with the place of the first of them.
func (s *bodyScratch) runs(is func(l *textLine) bool) iter.Seq2[int, []textLine] {
	return func(yield func(int, []textLine) bool) {
		for i := 0; i < len(s.lines); i++ {
			start := i
			for i < len(s.lines) && is(&s.lines[i]) {
				i++
			}
			if i > start && !yield(start, s.lines[start:i]) {
				return
			}
		}
	}
}

func unkeep(lines []textLine) {
	for i := range lines {
		lines[i].keep = false
	}
}

// markRuns marks the lines of furniture runs as left out. Short lines below a long one that ends with a colon are a
// list of the article: streets, products, names.
func (s *bodyScratch) markRuns(clean string) {
	for i, run := range s.runs(func(l *textLine) bool { return l.kind != proseLine }) {
		announced := i > 0 && strings.HasSuffix(clean[:s.lines[i-1].end], ":")
		if isFurniture(run) && !announced {
			unkeep(run)
		}
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

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// markIslands marks small groups of kept lines between furniture as left out, if another group is larger.
func (s *bodyScratch) markIslands() {
	isKept := func(l *textLine) bool { return l.keep }
	largest := int32(0)
	for _, island := range s.runs(isKept) {
		largest = max(largest, widthOf(island))
	}
	for _, island := range s.runs(isKept) {
		if w := widthOf(island); w < limits.LongLine && w < largest {
			unkeep(island)
		}
	}
}

func widthOf(lines []textLine) int32 {
	sum := int32(0)
	for i := range lines {
		sum += lines[i].width
	}
	return sum
}

// hasBody tells whether the lines that are kept are the article, now that furniture is marked; otherwise all lines
// are. Where more than a little was marked, the rest is an article only if it is long, or of middle length in several
// lines: an introduction or a disclaimer is shorter. A little is less than half of the rest.
func (s *bodyScratch) hasBody() bool {
	left, out, lines := int32(0), int32(0), 0
	for i := range s.lines {
		switch l := &s.lines[i]; {
		case l.keep:
			left += l.width
			lines += count(l.width >= shortLine)
		case !l.gone:
			out += l.width
		}
	}
	if 2*left >= limits.BodyColumns && lines >= limits.FurnitureLines {
		left *= 2
	}
	return out > 0 && (out <= left/2 || left >= limits.BodyColumns)
}

// A line that a text has three times or more, word for word, counts once: an advertisement between all
// paragraphs, or the name of the photographer below each picture, would outweigh the article.

// markRepeats marks all lines but the first of three or more that are equal as repeats, and leaves them out.
// It tells whether there are any.
func (s *bodyScratch) markRepeats(clean string) (found bool) {
	if !s.mayRepeat(clean) {
		return false
	}
	times := map[string]int{}
	for i := range s.lines {
		line := clean[s.lines[i].start:s.lines[i].end]
		times[line]++
		found = found || times[line] > 2
	}
	for i := 0; i < len(s.lines) && found; i++ {
		line := clean[s.lines[i].start:s.lines[i].end]
		if n := times[line]; n < 0 {
			s.lines[i].leaveOut()
		} else if n > 2 {
			times[line] = -1 // the next one is a repeat
		}
	}
	return found
}

// mayRepeat tells whether three lines may be equal: most texts have no three lines of one length and with one byte in
// their middle.
func (s *bodyScratch) mayRepeat(clean string) bool {
	var times [1 << 10]uint8
	for i := range s.lines {
		l := &s.lines[i]
		n := &times[(uint32(l.end-l.start)<<5^uint32(clean[(l.start+l.end)/2]))%uint32(len(times))]
		if *n++; *n > 2 {
			return true
		}
	}
	return false
}

// leaveOut leaves a line out. It does not end a run of furniture.
func (l *textLine) leaveOut() { l.kind, l.keep, l.gone = weakLine, false, true }

// Some programs that make text of a page leave its scripts, styles and data in it. This code is the same on
// all pages of a site, and often longer than the article.

// markCode leaves out the lines of code, unless hardly any other text is there. It tells whether there are any.
func (s *bodyScratch) markCode(clean string) (found bool) {
	rest := int32(0)
	for i := range s.lines {
		l := &s.lines[i]
		l.code = isCode(clean[l.start:l.end])
		found = found || l.code
		if !l.code && l.keep {
			rest += l.width
		}
	}
	if !found || rest < limits.LongLine {
		return false
	}
	for i := range s.lines {
		if s.lines[i].code {
			s.lines[i].leaveOut()
		}
	}
	return true
}

// isCode tells whether a line is written in a language of programs: it has braces, or ends as a statement or a
// selector does, and it has more marks than spaces and characters beyond ASCII.
func isCode(line string) bool {
	braces := strings.IndexByte(line, '{') >= 0 || strings.IndexByte(line, '}') >= 0
	if !braces && !strings.HasSuffix(line, ";") && !strings.HasSuffix(line, ",") {
		return false
	}
	marks, others := -1, 0 // one mark ends a line of prose
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ' || c >= utf8.RuneSelf:
			others++
		case c > ' ' && c < '0' || c > '9' && c < 'a' || c > 'z':
			marks++
		}
	}
	return marks > others
}
