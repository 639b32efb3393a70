// Package page leaves out of a text what is no part of its article. Find is the one place that says how much, and why:
//
//   - the page around the article of an HTML document, by its elements
//   - boilerplate: sentences that a table lists for the publisher (boilerplate.go; learn.go makes the table)
//   - furniture: menus, headlines of other articles and footers, by the form of their lines (furniture.go)
//
// They are left out of fingerprint and signature, not of the digest: an exact copy is a copy of the whole
// page. Nothing is learnt from other articles, so a redelivered record gets the same treatment as the first
// time, on every machine.
package page

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
)

// Finder finds the articles in texts. Not for concurrent use. It keeps its buffers for the next text.
type Finder struct {
	html        string
	boilerplate *Boilerplate
	off         uint // rules that are left out: a bit for the place of each in rules

	lines    bodyScratch
	body     []byte // the article
	kept     []byte // the clean text without boilerplate
	sentence []byte // one of its sentences, normalised
	joined   []byte // the clean text with unwrapped paragraphs
	plain    []byte // the clean text without addresses
}

// NewFinder returns a Finder. html is HTMLText or HTMLArticle. The table may be nil. off has a bit for each of Rules
// that measurements leave out.
func NewFinder(html string, table *Boilerplate, off uint) *Finder {
	return &Finder{html: html, boilerplate: table, off: off}
}

// rules take from a clean text what is no part of its article, one after the other.
var rules = [...]struct {
	name  string
	apply func(f *Finder, clean string) string
}{
	{"what follows an article that was cut off", func(_ *Finder, clean string) string { return withoutRest(clean) }},
	{"addresses", (*Finder).withoutAddresses},
	{"unwrapped lines", (*Finder).unwrapped},
	{"furniture", (*Finder).withoutFurniture},
}

// Rules names the rules by which Find leaves out parts of clean texts.
func Rules() (names []string) {
	for i := range rules {
		names = append(names, rules[i].name)
	}
	return names
}

// Left says how much of a clean text is no part of its article, in bytes.
type Left struct {
	Boilerplate int // sentences of the table
	Furniture   int // lines that look like furniture, and the page around the article of an HTML document
}

// Find returns the part of a text that is its article, clean. clean is what text.Clean makes of raw. from
// decides which rows of the table count.
func (f *Finder) Find(raw, clean string, from article.Origin) (body string, left Left) {
	around := clean
	if f.html == HTMLArticle {
		if found := mainContent(document(raw)); found != "" {
			around = text.Clean(found)
		}
	}
	kept := f.withoutBoilerplate(around, from)
	left.Boilerplate = len(around) - len(kept)
	body = kept
	for i := range rules {
		if f.off>>i&1 == 0 {
			body = rules[i].apply(f, body)
		}
	}
	left.Furniture = max(0, len(clean)-left.Boilerplate-len(body))
	return body, left
}

// Cap is the capacity of the largest buffer, in bytes.
func (f *Finder) Cap() int {
	return max(cap(f.body), cap(f.kept), cap(f.sentence), cap(f.joined), cap(f.plain))
}
