package stories

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/pipeline/article"
)

// AppendJSON appends the JSON of the Record of a story that has copies. The story has ended if now is more than a
// window after its last copy. encoding/json takes five times as long, and a projector writes a record for nearly each
// copy.
func (s *Story) AppendJSON(dst []byte, now time.Time, rules *Rules) []byte {
	best, first, last := s.best, s.first, s.last
	carried := s.publishers // add changes the lists
	carried.named = append(make([]publisher, 0, len(carried.named)+1), carried.named...)
	carried.others = slices.Clone(carried.others)
	root, known := s.Root()
	if known {
		best = rules.better(best, candidate{Article: root, root: true})
		if root.Time.Before(first) {
			first = root.Time
		}
		if root.Time.After(last) {
			last = root.Time
		}
		carried.add(publisher{name: root.Publisher, articles: 1, first: root.Time, ref: root.Ref, relation: rootRelation})
	}
	n, exact := carried.count()
	dst = root.appendJSON(append(dst, `{"root":`...))
	dst = appendNumber(dst, `,"copies":`, s.copies)
	dst = appendNumber(dst, `,"exact":`, s.exact)
	dst = appendNumber(dst, `,"near":`, s.copies-s.exact)
	dst = appendNumber(dst, `,"publishers":`, n)
	if !exact {
		dst = append(dst, `,"publishers_estimated":true`...)
	}
	slices.SortFunc(carried.named, byArticle)
	dst = append(dst, `,"by_publisher":`...)
	for i := range carried.named {
		p := &carried.named[i]
		copies := p.articles
		if known && p.name == root.Publisher {
			copies--
		}
		dst = p.appendJSON(appendSeparator(dst, i), copies)
	}
	dst = appendTime(append(dst, ']'), `,"first_time":`, first)
	dst = appendTime(dst, `,"last_time":`, last)
	dst = best.appendJSON(append(dst, `,"best":`...))
	dst = appendNumber(dst, `,"versions":`, carried.versions())
	for i := range s.related {
		if i == 0 {
			dst = append(dst, `,"related":`...)
		}
		dst = s.related[i].appendJSON(appendSeparator(dst, i))
	}
	if len(s.related) > 0 {
		dst = append(dst, ']')
	}
	state := Open
	if now.Sub(last) > rules.Window {
		state = Ended
	}
	dst = strconv.AppendUint(append(appendText(dst, `,"state":`, state), `,"version":`...), s.version, 10)
	return append(dst, '}')
}

// appendJSON appends the JSON of a Root.
func (a *Article) appendJSON(dst []byte) []byte {
	dst = appendCoordinates(appendText(dst, `{"id":`, a.ID), a.Coordinates)
	dst = appendText(dst, `,"publisher":`, a.Publisher)
	dst = appendUnlessEmpty(dst, `,"title":`, a.Title)
	dst = appendUnlessEmpty(dst, `,"url":`, a.URL)
	if !a.Time.IsZero() {
		dst = appendTime(dst, `,"time":`, a.Time)
	}
	return append(dst, '}')
}

// appendJSON appends the JSON of a Best.
func (c *candidate) appendJSON(dst []byte) []byte {
	dst = appendCoordinates(appendText(dst, `{"id":`, c.ID), c.Coordinates)
	dst = appendUnlessEmpty(appendText(dst, `,"publisher":`, c.Publisher), `,"url":`, c.URL)
	return append(appendText(dst, `,"why":`, criteria[c.why]), '}')
}

// appendJSON appends the JSON of a Publisher.
func (p *publisher) appendJSON(dst []byte, copies int) []byte {
	dst = appendNumber(appendText(dst, `{"name":`, p.name), `,"copies":`, copies)
	dst = appendText(appendTime(dst, `,"first_time":`, p.first), `,"id":`, p.ref.ID)
	return append(appendText(appendCoordinates(dst, p.ref.Coordinates), `,"relation":`, p.relation), '}')
}

// appendSeparator appends what stands before the element of an array at a place.
func appendSeparator(dst []byte, place int) []byte {
	if place == 0 {
		return append(dst, '[')
	}
	return append(dst, ',')
}

func appendNumber(dst []byte, name string, n int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(n), 10)
}

func appendTime(dst []byte, name string, t time.Time) []byte {
	return append(t.AppendFormat(append(append(dst, name...), '"'), time.RFC3339Nano), '"')
}

func appendCoordinates(dst []byte, c article.Coordinates) []byte {
	dst = appendText(dst, `,"coordinates":`, c.Topic)
	dst = appendNumber(dst[:len(dst)-1], "/", int(c.Partition))
	return append(strconv.AppendInt(append(dst, '/'), c.Offset, 10), '"')
}

func appendUnlessEmpty(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendText(dst, name, text)
}

func appendText(dst []byte, name, text string) []byte {
	dst, ascii := append(dst, name...), true
	for i := range len(text) {
		c := text[i]
		if ascii = ascii && c < utf8.RuneSelf; c < ' ' || c == '"' || c == '\\' {
			return appendEscaped(dst, text)
		}
	}
	if !ascii && (!utf8.ValidString(text) || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")) {
		return appendEscaped(dst, text)
	}
	return append(append(append(dst, '"'), text...), '"')
}

// appendEscaped appends one of the few texts that do not stand in JSON as they are.
func appendEscaped(dst []byte, text string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text never fails
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}
