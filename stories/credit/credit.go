// Package credit finds whom an article names as its origin. An article names it in a field of its record, in its byline
// or dateline, or in its last lines. A credit is no attribution: who is quoted in running text does not count.
//
// It says who is named, not who wrote the article. It reads the ends of a text only, whatever its length.
package credit

import (
	"cmp"
	_ "embed" // the table
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"
)

// Where an article names its origin.
const (
	Field = "field"  // of its record
	Text  = "credit" // in its text
)

const (
	window    = 1500 // bytes at each end of a text that are read
	edge      = 400  // of these, without tags of HTML
	headLines = 3
	tailLines = 4
)

//go:embed agencies.txt
var table string

// known maps each form of a name in lower case to the name, those that are no origin to "", and labels to isLabel.
// chinese are the forms that open a Chinese dateline.
var known, chinese = read(table)

const isLabel = ":"

func read(table string) (forms map[string]string, han []string) {
	forms = map[string]string{}
	for line := range strings.Lines(table) {
		if line[0] == '#' {
			continue
		}
		all := strings.Split(strings.TrimSpace(line), "|")
		for _, form := range all {
			forms[strings.ToLower(form)] = all[0]
			if r := []rune(form); len(r) > 2 && unicode.Is(unicode.Han, r[0]) && unicode.Is(unicode.Han, r[len(r)-1]) {
				han = append(han, form)
			}
		}
	}
	return forms, han
}

// lookUp returns the name in the table for a form of it. It is empty for a form that names nobody.
func lookUp(form string) (name string, found bool) {
	name, found = known[strings.ToLower(strings.TrimSpace(form))]
	return strings.TrimPrefix(name, isLabel), found
}

func agency(form string) string {
	name, _ := lookUp(form)
	return name
}

// Find returns whom an article names as its origin, and where: Field or Text. Both are empty if it names nobody. field
// is that of its record; text may have tags of HTML. A name has at most 64 bytes.
func Find(field, text string) (name, where string) {
	if name = ofField(field); name != "" {
		return name, Field
	}
	head, tail := ends(text)
	name = cmp.Or(first(head, byline, dateline, chineseDateline, source, published),
		first(tail, byline, source, closing, published))
	if name == "" {
		return "", ""
	}
	return name, Text
}

func first(lines []string, forms ...func(string) string) string {
	for _, line := range lines {
		for _, form := range forms {
			if name := form(line); name != "" {
				return name
			}
		}
	}
	return ""
}

// ofField returns the name in a field: that of the table, or the field itself, of an address the host.
func ofField(field string) string {
	field = trimmed(field)
	if label, name, found := strings.Cut(field, ":"); found && known[strings.ToLower(label)] == isLabel {
		field = trimmed(name)
	}
	name, found := lookUp(field)
	switch {
	case found:
		return name
	case strings.Contains(field, "://"):
		return article.PublisherOf("", field)
	}
	return article.PublisherOf(field, "")
}

// trimmed returns a text without brackets, white space and marks of Markdown at its ends.
func trimmed(s string) string { return strings.Trim(s, " \t\r\n\u00a0\u3000*_#>()（）[]【】") }

// ends returns the first lines of a text that are not blank, and the last ones, the last one first.
func ends(text string) (head, tail []string) {
	head, tail = lines(begin(plain(begin(text, window)), edge)), lines(end(plain(end(text, window)), edge))
	slices.Reverse(tail)
	return head[:min(len(head), headLines)], tail[:min(len(tail), tailLines)]
}

func lines(text string) (all []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "*_#>")); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// cut stands in place of the rest of a text: the words beside it may not be whole.
const cut = "\x00"

// begin and end return the first and the last bytes of a text.
func begin(text string, most int) string {
	if len(text) > most {
		text = article.Cut(text, most) + cut
	}
	return text
}

func end(text string, most int) string {
	if len(text) > most {
		text = cut + strings.TrimLeftFunc(text[len(text)-most:], func(r rune) bool { return r == utf8.RuneError })
	}
	return text
}

var (
	inline = regexp.MustCompile(`(?i)</?(?:a|b|i|u|em|strong|span|font)(?: [^>]*)?>`)
	block  = regexp.MustCompile(`</?[A-Za-z][^>]*>`)
)

// plain returns a text without tags of HTML. They end a line, unless they mark words in it.
func plain(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return block.ReplaceAllString(inline.ReplaceAllString(text, ""), "\n")
}
