package page

import (
	"strings"

	"echosieve/pipeline/limits"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/tidwall/gjson"
	"golang.org/x/net/html"
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
	// A page beyond maxPageBytes, without scripts, styles and pictures within it, is treated as text.
	maxPageBytes = 4 << 20
	// The library does not see a page beyond one of these bounds. It (2.1.3) adds up the text below an
	// element again for each element around it. A page of 600 kB whose text stands below 400 elements would
	// take 5 seconds; with maxPageWork, which is the sum over all text of its bytes times the elements around
	// it, 0.2 seconds. A long article in a page of a newspaper has a tenth of it.
	maxPageElements = 20_000
	maxPageWork     = 8 << 20
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

// mainContent returns the text of the article in an HTML document, without the page around it. It is empty if
// none is found.
//
// The article that the page gives to search engines is believed if it is plausible. Otherwise it is the library's,
// unless the part of the page with the most prose is more plausible, or the main content, as the page calls it, is
// prose and a small part of it. Where a page is too much for the library, the part with the most prose counts.
func mainContent(page string) string {
	if page == "" {
		return ""
	}
	given := articleBody(page)
	page = withoutScripts(withoutData(page))
	if len(page) > maxPageBytes {
		return ""
	}
	parsed, err := html.Parse(strings.NewReader(page)) // fails for tags that are nested too deeply
	if err != nil {
		return ""
	}
	p := findProse(parsed)
	if len(given) <= 2*p.bytes && 2*proseOf(given) > p.best.prose {
		return given
	}
	prose, own := textOf(p.node), textOf(p.main) // before the library changes the document
	if p.elements > maxPageElements || p.work > maxPageWork {
		return prose
	}
	p.removeNotices()
	found := readable(parsed)
	if p.outdoes(found, prose) {
		return prose
	}
	if p.mainHas.prose > 2*limits.LongLine && limits.Outdoes*len(own) < len(found) {
		return own
	}
	if len(found) < limits.LongLine {
		return ""
	}
	return found
}

// outdoes tells whether the part of the page with the most prose is rather the article than what the library
// has found: it has many times the prose, and the other is a small part of the page, such as a caption or a
// notice; or it has nearly all of the other's prose in a small part of its text.
func (p *prose) outdoes(found, prose string) bool {
	if p.node == nil {
		return false
	}
	other := proseOf(found)
	return p.best.prose > limits.Outdoes*other && float64(len(found)) < limits.MainShare*float64(p.bytes) ||
		p.best.prose+limits.LongLine > other && limits.Outdoes*len(prose) < len(found)
}

// readable returns the text of the article that the library finds, without white space around it.
func readable(document *html.Node) (text string) {
	// The library is made for pages that people read. A page that it cannot stand must not end the process.
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	parser := readability.NewParser()
	parser.DisableJSONLD = true // only for metadata
	found, err := parser.ParseAndMutate(document, nil)
	if err != nil || found.Node == nil {
		return ""
	}
	var b strings.Builder
	if found.RenderText(&b) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// withoutData returns an HTML document without the content of the pictures and fonts within it (data: addresses).
func withoutData(page string) string {
	const mark, alphabet = ";base64,", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=%-_"
	before, after, found := strings.Cut(page, mark)
	if !found {
		return page
	}
	var b strings.Builder
	for found {
		b.WriteString(before)
		before, after, found = strings.Cut(strings.TrimLeft(after, alphabet), mark)
	}
	b.WriteString(before)
	return b.String()
}

// withoutScripts returns an HTML document without its scripts, styles and comments, most of today's pages.
func withoutScripts(page string) string {
	var b strings.Builder
	unclosed := [len(unseen)]bool{}
	done := 0
	for i := 0; i < len(page); {
		at := strings.IndexByte(page[i:], '<')
		if at < 0 {
			break
		}
		i += at
		end := 0
		for k := range unseen {
			if u := &unseen[k]; !unclosed[k] && hasPrefixFold(page[i:], u.begin) {
				if end = indexFold(page[i:], u.end); end < 0 {
					unclosed[k], end = true, 0 // and none that follows is closed, either
				}
				break
			}
		}
		if end > 0 {
			b.WriteString(page[done:i])
			i += end
			done = i
			continue
		}
		i++
	}
	if done == 0 {
		return page
	}
	b.WriteString(page[done:])
	return b.String()
}

// unseen are the parts of a document that no reader sees, and whose content is no markup.
var unseen = [...]struct{ begin, end string }{{"<script", "</script>"}, {"<style", "</style>"}, {"<!--", "-->"}}

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

// maxBodyDepth is how deep the text of an article lies in the data of a page: an object in a list in an object.
const maxBodyDepth = 4

// articleBody returns the text of the article that a document gives to search engines: the longest articleBody of
// its scripts of JSON-LD (schema.org). It is empty if there is none.
func articleBody(page string) (body string) {
	if !strings.Contains(page, `"articleBody"`) {
		return ""
	}
	for rest := page; ; {
		_, script, found := strings.Cut(rest, "application/ld+json")
		if !found {
			return body
		}
		end := indexFold(script, "</script>")
		if end < 0 {
			return body
		}
		data := script[:end-len("</script>")]
		rest = script[end:]
		if begin := strings.IndexByte(data, '>'); begin >= 0 {
			body = longestBody(gjson.Parse(data[begin+1:]), maxBodyDepth, body)
		}
	}
}

// longestBody returns the longest articleBody within a value of JSON, or body if that is longer.
func longestBody(value gjson.Result, depth int, body string) string {
	if depth == 0 || !value.IsObject() && !value.IsArray() {
		return body
	}
	value.ForEach(func(key, v gjson.Result) bool {
		if text := v.String(); key.Str == "articleBody" && v.Type == gjson.String && len(text) > len(body) {
			body = text
		}
		body = longestBody(v, depth-1, body)
		return true
	})
	return body
}
