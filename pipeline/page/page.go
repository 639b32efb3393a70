// Package page leaves out of a text what is no part of its article. Find is the one place that says how much, and why:
//
//   - the page around the article of an HTML document, by its elements
//   - boilerplate: sentences that a table lists for the publisher (boilerplate.go; learn.go makes the table)
//   - furniture: menus, headlines of other articles and footers, by the form of their lines (furniture.go)
//
// They are left out of fingerprint and signature, not of the digest: an exact copy is a copy of the whole page. Nothing is learnt from other
// articles, so a redelivered record gets the same treatment as the first time, on every machine.
package page

import (
	"strings"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
	"echosieve/pipeline/text"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// Finder finds the articles in texts. Not for concurrent use. It keeps its buffers for the next text.
type Finder struct {
	html        string
	boilerplate *Boilerplate

	lines    bodyScratch
	body     []byte // the article
	kept     []byte // the clean text without boilerplate
	sentence []byte // one of its sentences, normalised
}

// NewFinder returns a Finder. html is HTMLText or HTMLArticle. The table may be nil.
func NewFinder(html string, table *Boilerplate) *Finder {
	return &Finder{html: html, boilerplate: table}
}

// Left says how much of a clean text is no part of its article, in bytes.
type Left struct {
	Boilerplate int // sentences of the table
	Furniture   int // lines that look like furniture, and the page around the article of an HTML document
}

// Find returns the part of a text that is its article, clean. clean is what text.Clean makes of raw. from decides which rows of the table
// count.
func (f *Finder) Find(raw, clean string, from article.Origin) (body string, left Left) {
	around := clean
	if f.html == HTMLArticle && isPage(raw) {
		if found := mainContent(raw); found != "" {
			around = text.Clean(found)
		}
	}
	kept := f.withoutBoilerplate(around, from)
	left.Boilerplate = len(around) - len(kept)
	body = f.withoutFurniture(kept)
	left.Furniture = max(0, len(clean)-left.Boilerplate-len(body))
	return body, left
}

// Cap is the capacity of the largest buffer, in bytes.
func (f *Finder) Cap() int { return max(cap(f.body), cap(f.kept), cap(f.sentence)) }

// What counts of a text that is an HTML document.
const (
	HTMLText    = "text"    // all text of a page counts, except lines that look like furniture
	HTMLArticle = "article" // of an HTML document, only the article counts
)

const (
	// A page beyond one of these bounds is treated as text. The library (2.1.3) adds up the text below an element again for each element
	// around it. A page of 600 kB whose text stands below 400 elements would take 5 seconds; with maxPageWork, which is the sum over all
	// text of its bytes times the elements around it, 0.2 seconds. A long article in a page of a newspaper has a tenth of it.
	maxPageBytes    = 1 << 20
	maxPageElements = 10_000
	maxPageWork     = 8 << 20
)

// isPage tells whether a text is a whole HTML document, not a text with some tags.
func isPage(text string) bool {
	text = strings.TrimLeft(text, "\ufeff \t\r\n")
	for _, start := range []string{"<!doctype html", "<html"} {
		if len(text) >= len(start) && strings.EqualFold(text[:len(start)], start) {
			return true
		}
	}
	return false
}

// mainContent returns the text of the article in an HTML document, without the page around it. It is empty if none is found.
func mainContent(page string) (text string) {
	if len(page) > maxPageBytes {
		return ""
	}
	// The library is made for pages that people read. A page that it cannot stand must not end the process.
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	document, err := html.Parse(strings.NewReader(page)) // fails for tags that are nested too deeply
	if err != nil {
		return ""
	}
	if pageWork(document, 0) > maxPageWork {
		return ""
	}
	parser := readability.NewParser()
	parser.CharThresholds = limits.MainBytes
	parser.MaxElemsToParse = maxPageElements
	parser.DisableJSONLD = true // only for metadata
	found, err := parser.ParseAndMutate(document, nil)
	if err != nil || found.Node == nil {
		return ""
	}
	var b strings.Builder
	if found.RenderText(&b) != nil || len(strings.TrimSpace(b.String())) < limits.MainBytes {
		return ""
	}
	return b.String()
}

// pageWork is the sum over the text below a node of its bytes times the elements around it.
func pageWork(n *html.Node, depth int) int {
	work := 0
	if n.Type == html.TextNode {
		work = len(n.Data) * depth
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		work += pageWork(child, depth+1)
	}
	return work
}
