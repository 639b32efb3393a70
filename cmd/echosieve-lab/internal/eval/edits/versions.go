package edits

import (
	"fmt"
	"slices"
	"strings"
)

// versionMarks number a version of a story, as news agencies of several countries do. A mark stands in front
// of the text.
var versionMarks = []func(n int) string{
	func(n int) string { return fmt.Sprintf("UPDATE %d-", n) },
	func(n int) string { return ordinal(n) + " lead " },
	func(n int) string { return ordinal(n) + " LD: " },
	func(n int) string { return fmt.Sprintf("(Update %d) ", n) },
	func(n int) string { return fmt.Sprintf("第%d稿 ", n) },
	func(n int) string { return fmt.Sprintf("%d. Zusammenfassung - ", n) },
	func(n int) string { return fmt.Sprintf("ACTUALIZA%d-", n) },
	func(n int) string { return fmt.Sprintf("%dth Writethru, %d00 words\n", n+3, n+2) },
}

func ordinal(n int) string {
	return fmt.Sprint(n) + [...]string{"th", "st", "nd", "rd", "th"}[min(n, 4)]
}

// Versions returns versions of an article as one publisher sends them one after another, and its neighbours
// on a page or in a feed: other articles with much text in common. It returns the same ones for a seed.
func (c *Corpus) Versions(base int, seed uint64) []Edit {
	m := &maker{draws: c.draws(seed+1, base), base: base}
	if len(c.sentences[base]) >= 4 {
		m.takes(c.sentences[base])
		m.liveBlog(c.sentences[base])
	}
	text := c.articles[base]
	m.copy("dateline_other", m.dateline()+text)
	m.version("dateline_replaced", m.dateline()+text, m.dateline()+text)
	m.version("date_on_top", m.clock()+"\n"+text, m.clock()+"\n"+text)
	if flash := beginning(text, 24); len(c.sentences[base]) > 1 {
		m.version("breaking_flash", flash, [...]string{"BREAKING: ", "快讯：", "URGENT - ", "EILMELDUNG: "}[m.IntN(4)]+
			flash)
	}
	m.neighbours(text)
	return m.edits
}

// version adds two texts that are versions of the base.
func (m *maker) version(kind, earlier, later string) {
	m.edits = append(m.edits, Edit{Kind: kind, Copy: true, Earlier: earlier, Later: later})
}

// takes adds takes of a story: the later take tells more, or begins otherwise. Both have marks of one agency,
// with other numbers.
func (m *maker) takes(s []string) {
	mark, n := versionMarks[m.IntN(len(versionMarks))], 1+m.IntN(3)
	whole := join(s)
	for _, grown := range []struct {
		kind string
		of   int // the later take has one sentence more for so many of the earlier one
	}{{"take_third_added", 3}, {"take_half_added", 2}} {
		m.version(grown.kind, mark(n)+join(s[:len(s)*grown.of/(grown.of+1)]), mark(n+1)+whole)
	}
	var between []string
	for i, sentence := range s {
		if i%4 != 2 {
			between = append(between, sentence)
		}
	}
	m.version("take_put_between", mark(n)+join(between), mark(n+1)+whole)
	m.version("take_other_lead", mark(n)+whole, mark(n+1)+m.line()+join(s[1:]))
}

// liveBlog adds a live blog: a list of entries with their times, the latest first, to which the later version
// adds up to half.
func (m *maker) liveBlog(s []string) {
	hour, minute := 7+m.IntN(8), m.IntN(10)
	var entries []string
	for _, sentence := range s {
		minute += 5 + m.IntN(20)
		entries = append(entries, fmt.Sprintf("%02d:%02d %s\n", (hour+minute/60)%24, minute%60,
			strings.TrimSpace(sentence)))
	}
	slices.Reverse(entries)
	added := len(s)/6 + m.IntN(len(s)/3-len(s)/6+1)
	m.version("live_blog_grown", join(entries[added:]), join(entries))
}

// neighbours adds other articles that share text with the base.
func (m *maker) neighbours(text string) {
	if len(m.articles) < 12 {
		return
	}
	var others []int
	for range 4 {
		if i := m.distinct(); i >= 0 && !slices.Contains(others, i) {
			others = append(others, i)
		}
	}
	if len(others) < 3 {
		return
	}
	roundup := []string{text, m.articles[others[0]], m.articles[others[1]], m.articles[others[2]]}
	for n := 3; n <= 4; n++ {
		kind := fmt.Sprintf("roundup_of_%d", n)
		list := append([]string{}, roundup[:n]...)
		m.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
		if all := strings.Join(list, "\n"); m.IntN(2) == 0 {
			m.other(kind, text, all)
		} else {
			m.other(kind, all, text)
		}
	}
	later := m.articles[others[0]]
	var related strings.Builder
	for range 8 + m.IntN(8) {
		related.WriteString(m.line())
	}
	m.other("short_above_one_list", m.short(m.base)+"\n"+related.String(), m.short(others[0])+"\n"+related.String())
	for _, form := range []struct {
		kind  string
		times int
	}{{"same_prose_1x", 1}, {"same_prose_2x", 2}, {"same_prose_4x", 4}} {
		prose := m.prose(form.times * min(len(text), len(later)))
		before, after := join(prose[:len(prose)/2]), join(prose[len(prose)/2:])
		m.other(form.kind, before+"\n"+text+"\n"+after, before+"\n"+later+"\n"+after)
	}
}

// short returns the first three sentences of an article: a short report.
func (d draws) short(article int) string {
	s := d.sentences[article]
	return strings.TrimSpace(join(s[:min(3, len(s))]))
}

// prose returns sentences of other articles with at least a length in bytes, as a site puts them under each
// of its articles.
func (d draws) prose(length int) []string {
	var list []string
	for length > 0 {
		s := strings.TrimSpace(d.pool[d.IntN(len(d.pool))]) + " "
		list, length = append(list, s), length-len(s)
	}
	return list
}

// dateline returns a place and a date in front of a text.
func (d draws) dateline() string {
	return fmt.Sprintf("%s, %d.%d. (%s) - ", strings.ToUpper(d.word()), 1+d.IntN(28), 1+d.IntN(12), d.word())
}

// clock returns a date and a time.
func (d draws) clock() string {
	return fmt.Sprintf("%d-%02d-%02d %02d:%02d", 2020+d.IntN(6), 1+d.IntN(12), 1+d.IntN(28), d.IntN(24), d.IntN(60))
}
