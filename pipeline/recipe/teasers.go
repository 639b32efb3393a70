package recipe

import (
	"cmp"
	"slices"
	"strings"

	"echosieve/simhash"
)

// A page lists other articles in whole sentences, too: several lines, each with the same words before the beginning of another article,
// such as "Elsewhere on this site we report the following." Such lines are recognised by the words that they repeat: the text up to the
// first mark, which must be long, without digits, and the same in at least minTeasers lines. Lines of speakers ("the president:") have
// shorter ones, or several that repeat, and dated items ("today (5 May)") have digits.
const (
	minTeasers = 3
	// The least and largest length of the words before a teaser, in bytes: 24 letters or eight Chinese characters. Lowered, the answers of
	// an interview are left out; raised, more teasers stay.
	minLeadIn, maxLeadIn = 24, 120
	// minTeaser is the least length of the rest of the line, in bytes. A line without a rest is a greeting or a heading.
	minTeaser = 20
	// A single line before or after all teasers is a notice of the site if another text of the page is more than noticeTimes as long.
	// Raised, long notices stay; lowered, a paragraph of an article that stands apart from the rest is lost.
	noticeTimes = 2
)

// leadIn returns the length of the words before a teaser at the beginning of a line, or 0 if the line has none.
func leadIn(line string) int {
	for i := 0; i < min(len(line)-minTeaser, maxLeadIn); i++ {
		switch c := line[i]; {
		case isDigit(c):
			return 0
		case i+1 < minLeadIn:
		case c == ',' || c == '.' || c == ':' || c == ';' || c == '!' || c == '?':
			return i + 1
		case c == 0xe3 && strings.HasPrefix(line[i:], "。"):
			return i + len("。")
		}
	}
	return 0
}

// teaser is a line with a lead-in, and where the line stands in the text.
type teaser struct {
	leadIn     uint64 // its hash
	start, end int
}

// withoutTeasers returns a clean text without the lines that share a lead-in and the notices beside them. It returns the whole text if
// several lead-ins repeat, or if less than one part in littleShare would be left.
func (s *scratch) withoutTeasers(clean string) string {
	if strings.Count(clean, "\n") < minTeasers {
		return clean
	}
	s.teasers = s.teasers[:0]
	for start := 0; start < len(clean); {
		end := len(clean)
		if n := strings.IndexByte(clean[start:], '\n'); n >= 0 {
			end = start + n
		}
		if n := leadIn(clean[start:end]); n > 0 {
			s.teasers = append(s.teasers, teaser{simhash.Hash(clean[start : start+n]), start, end})
		}
		start = end + 1
	}
	found := repeated(s.teasers)
	if found == nil {
		return clean
	}
	first, last := clean[:found[0].start], clean[min(found[len(found)-1].end+1, len(clean)):]
	largest := max(len(first), len(last))
	for i := 1; i < len(found); i++ {
		largest = max(largest, found[i].start-found[i-1].end)
	}
	out, done := s.rest[:0], 0
	if isNotice(first, largest) {
		done = found[0].start
	}
	for _, t := range found {
		out = append(out, clean[done:t.start]...)
		done = min(t.end+1, len(clean))
	}
	if !isNotice(last, largest) {
		out = append(out, last...)
	}
	s.rest = out
	if len(s.rest)*littleShare < len(clean) {
		return clean
	}
	return string(s.rest)
}

// isNotice tells whether the text before or after all teasers is one line, much shorter than the longest text between teasers: a notice of
// the site.
func isNotice(text string, longest int) bool {
	return len(text)*noticeTimes < longest && strings.Count(strings.TrimSuffix(text, "\n"), "\n") == 0
}

// repeated returns the lines with the only lead-in that at least minTeasers lines have, in their order. It returns none if there are two
// such lead-ins. It sorts all.
func repeated(all []teaser) []teaser {
	slices.SortFunc(all, func(a, b teaser) int { return cmp.Or(cmp.Compare(a.leadIn, b.leadIn), a.start-b.start) })
	var found []teaser
	for begin := 0; begin < len(all); {
		end := begin + 1
		for end < len(all) && all[end].leadIn == all[begin].leadIn {
			end++
		}
		if end-begin >= minTeasers {
			if found != nil {
				return nil
			}
			found = all[begin:end]
		}
		begin = end
	}
	return found
}
