package page

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"echosieve/pipeline/text"
)

// What counts of a text that is an HTML document.
const (
	HTMLText    = "text"    // all text of a page counts, except lines that look like furniture
	HTMLArticle = "article" // of an HTML document, only the article counts
)

const (
	// maxPrefix is the length of the beginning of a text, in bytes, in which an HTML document begins: behind
	// comments, scripts and warnings of the program that made it.
	maxPrefix = 16 << 10
	// html.Parse makes up to two elements and a text of a tag, 120 bytes each. Pages of newspapers have up to 20,000 tags.
	maxTags = 40_000
	// The library (2.1.3) reads what is below an element again for each element around it. So each byte of text, and each
	// element as elementWork bytes, counts as work once for each element around it, an element by itself ten times more.
	// It compares the title with each heading, whose bytes count headingWork times each. The library takes 20 ns for a
	// unit. It sees a page of at most workShare units a byte, or minWork, which short pages without any trick have.
	// Pages of newspapers have 5, and at most 14.
	workShare   = 16
	minWork     = 1 << 14
	elementWork = 8
	headingWork = 32
	// Of more attributes, and of longer values, the rest does not count: the library goes through all attributes of an
	// element again and again, and compares the title with each heading.
	maxAttributes     = 64
	maxAttributeBytes = 512
	// html.Parse does not see a page whose tags have together more than tagShare elements around them for each byte. It
	// looks at all of them for some tags, and refuses a page with 512 around one. Pages of newspapers have at most 3.
	tagShare = 24
	maxOpen  = 512
)

// document returns the HTML document that a text is, without what stands before it. It is empty if the text
// is none, but perhaps has some tags. A document begins a line, or stands behind a tag.
func document(text string) string {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:min(len(text), maxPrefix)], '<')
		if next < 0 {
			return ""
		}
		at += next
		begin := text[at:]
		if before := strings.TrimRight(text[:at], " \t"); before != "" && !strings.ContainsAny(before[len(before)-1:],
			">\n\r") && before != "\ufeff" {
			continue // an article about HTML
		}
		if hasPrefixFold(begin, "<!doctype html") || hasPrefixFold(begin, "<html ") ||
			hasPrefixFold(begin, "<html>") || hasPrefixFold(begin, "<html\n") {
			return begin
		}
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// reduced returns an HTML document without its scripts, styles, drawings and comments, most of today's pages, and
// without tags that say nothing about an article and cost a parser much: those of formatting, which html.Parse opens
// again in each paragraph until they are closed, and those of a second html or body. tags is how many others there are,
// and around how many elements are around each of them, all added up.
func reduced(page string) (rest string, tags, around int) {
	var s scan
	rest, _ = text.Replace(page, '<', func(rest string) (string, int) { return "", s.leftOut(rest) })
	return rest, s.tags, s.around
}

// scan is what reduced knows of the document before a tag.
type scan struct {
	unclosed   [len(unseen)]bool
	html, body bool      // there was one
	open       []openTag // elements that may be open, the innermost last, and at most maxOpen
	tags       int
	around     int
}

type openTag struct {
	name tagName
	kind tagKind
}

// leftOut returns how much is left out at the beginning of rest, which is a "<"; 0 for nothing.
func (s *scan) leftOut(rest string) int {
	for k := range unseen {
		u := &unseen[k]
		if s.unclosed[k] || !hasPrefixFold(rest, u.begin) {
			continue
		}
		if end := indexFold(rest, u.end); end >= 0 {
			return end
		}
		s.unclosed[k] = true // and none that follows is closed, either
	}
	begin, ends := strings.CutPrefix(rest[1:], "/")
	name, kind := readName(begin)
	switch {
	case name == tagName{}:
		return 0
	case kind == formattingTag, kind == htmlTag && (ends || s.html), kind == bodyTag && (ends || s.body):
		if end := strings.IndexByte(rest, '>'); end >= 0 {
			return end + 1
		}
		return len(rest)
	}
	s.html, s.body = s.html || kind == htmlTag, s.body || kind == bodyTag
	s.tags++
	s.around += len(s.open)
	if !ends {
		again := kind == itemTag && len(s.open) > 0 && s.open[len(s.open)-1].name == name
		if !again && kind != voidTag && len(s.open) < maxOpen {
			s.open = append(s.open, openTag{name, kind})
		}
		return 0
	}
	// An end tag counts only if every parser surely ends its element there.
	for i := len(s.open) - 1; i >= max(0, len(s.open)-maxItems); i-- {
		if s.open[i].name == name && name[maxTagName-1] == 0 { // a longer one may go on differently
			s.open = s.open[:i]
			break
		}
		if s.open[i].kind != itemTag {
			break
		}
	}
	return 0
}

const (
	maxTagName = 32 // length in bytes up to which names of tags are told apart
	maxItems   = 8  // how many elements without an end tag are looked through for the element that ends
)

// tagName is the name of a tag in lower case, as html.Parse has it, a ">" and zeros; or only its beginning.
type tagName [maxTagName]byte

// readName returns the name of the tag that begins s, behind "<" or "</"; empty if this is no tag.
func readName(s string) (name tagName, kind tagKind) {
	length := 0
	for length < min(len(s), maxTagName) && strings.IndexByte(" \t\n\f\r/>", s[length]) < 0 {
		name[length] = s[length]
		if c := s[length]; c >= 'A' && c <= 'Z' {
			name[length] = c + 'a' - 'A'
		}
		length++
	}
	kind = tagKinds[string(name[:length])]
	if name[0] < 'a' || name[0] > 'z' {
		return tagName{}, otherTag
	}
	if length < maxTagName {
		name[length] = '>'
	}
	return name, kind
}

// unseen are the parts of a document that no reader sees, and whose content is no markup.
var unseen = [...]struct{ begin, end string }{{"<script", "</script>"}, {"<style", "</style>"}, {"<svg", "</svg>"},
	{"<rt>", "</rt>"}, {"<rp>", "</rp>"}, {"<!--", "-->"}}

type tagKind uint8

const (
	otherTag      tagKind = iota
	formattingTag         // says nothing about an article
	htmlTag
	bodyTag
	voidTag // has no end tag
	itemTag // ends where the element around it ends
)

var tagKinds = func() map[string]tagKind {
	table := map[string]tagKind{"html": htmlTag, "body": bodyTag}
	for kind, names := range map[tagKind]string{
		formattingTag: "b big code em font i math nobr s small strike strong tt u",
		voidTag:       "area base br col embed hr img input link meta param source track wbr",
		itemTag:       "dd dt li option p tbody td tfoot th thead tr",
	} {
		for name := range strings.FieldsSeq(names) {
			table[name] = kind
		}
	}
	return table
}()

// indexFold returns where the first end in s ends, in whatever case; -1 if there is none.
func indexFold(s, end string) int {
	for i := 0; ; {
		at := strings.IndexByte(s[i:], end[len(end)-1])
		if at < 0 {
			return -1
		}
		i += at + 1
		if i >= len(end) && strings.EqualFold(s[i-len(end):i], end) {
			return i
		}
	}
}

// articleBody returns the text of the article that a document gives to search engines: the longest articleBody of
// its scripts of JSON-LD (schema.org). It is empty if there is none.
func articleBody(page string) (body string) {
	if !strings.Contains(page, `"articleBody"`) {
		return ""
	}
	for {
		_, script, found := strings.Cut(page, "application/ld+json")
		end := indexFold(script, "</script>")
		if !found || end < 0 {
			return body
		}
		page = script[end:]
		_, data, _ := strings.Cut(script[:end-len("</script>")], ">")
		eachNamed(gjson.Parse(data), "articleBody", maxJSONDepth, func(text string) {
			if len(text) > len(body) {
				body = text
			}
		})
	}
}

// blocksOf returns the paragraphs of a text that an editor has written as JSON (Editor.js, Draft.js): all that is named
// text in its blocks. It is empty for other texts.
func blocksOf(text string) string {
	if !strings.HasPrefix(text, "{") || !strings.Contains(text, `"blocks"`) || !json.Valid([]byte(text)) {
		return ""
	}
	var b strings.Builder
	eachNamed(gjson.Get(text, "blocks"), "text", maxJSONDepth, func(text string) { b.WriteString(text + "\n") })
	return b.String()
}

// maxJSONDepth is how many lists and objects are around the texts of an article in the data of a page or an editor.
const maxJSONDepth = 5

// eachNamed calls add with each string of a name within a value of JSON.
func eachNamed(value gjson.Result, name string, depth int, add func(text string)) {
	if depth == 0 || !value.IsObject() && !value.IsArray() {
		return
	}
	value.ForEach(func(key, v gjson.Result) bool {
		if key.Str == name && v.Type == gjson.String {
			add(v.Str)
		}
		eachNamed(v, name, depth-1, add)
		return true
	})
}
