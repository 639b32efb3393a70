package page

import (
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/limits"
)

// Some programs that make text of a page leave its scripts, styles and data in it. This code is the same on
// all pages of a site, and often longer than the article.

// markCode leaves out the lines of code, unless hardly any other text is there. It tells whether there are any.
func (s *bodyScratch) markCode(clean string) (found bool) {
	rest := 0
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

// isCode tells whether a line is written in a language of programs: it has braces, ends as a statement or a
// selector does, or begins a remark, and it has more marks than spaces and characters beyond ASCII.
func isCode(line string) bool {
	if strings.HasPrefix(line, "/*") {
		return true
	}
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
