// Package page leaves out of a text what is no part of its article. Find is the one place that says how much, and why:
//
//   - the page around the article of an HTML document, by its elements
//   - repeated: sentences that the publisher puts into many articles (repeated.go, package learnt)
//   - furniture: menus, headlines of other articles and footers, by the form of their lines (lines.go, furniture.go)
//
// They are left out of fingerprint and signature, not of the digest: an exact copy is a copy of the whole
// page. A record meets the same rows whenever it is delivered, so it gets the same treatment, on
// every machine.
package page

import (
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/limits"
	"echosieve/pipeline/text"
)

// Finder finds the articles in texts. Not for concurrent use. It keeps its buffers for the next text.
type Finder struct {
	html string
	off  uint // rules that are left out: a bit for the place of each in rules

	lines    bodyScratch
	body     []byte // the article
	kept     []byte // the clean text without repeated sentences
	hashes   []uint64
	starts   []int // where in the clean text the sentences with these hashes begin
	repeated []Repeated
	joined   []byte // the clean text with unwrapped paragraphs
	plain    []byte // the clean text without addresses
	folded   []byte // the article, see text.Plain
}

// NewFinder returns a Finder. html is HTMLText or HTMLArticle. off has a bit for each of Rules that measurements leave
// out.
func NewFinder(html string, off uint) *Finder {
	return &Finder{html: html, off: off}
}

// Cap is the capacity of the largest buffer, in bytes.
func (f *Finder) Cap() int {
	return max(cap(f.body), cap(f.kept), cap(f.joined), cap(f.plain), cap(f.folded))
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
	Head      int // the lines above the article, which stay: headline, byline, time stamp and counters of readers
	Repeated  int // sentences that the publisher repeats
	Furniture int // lines that look like furniture, and the page around the article of an HTML document
	// Costly says that the text is an HTML document too costly to be read as one: see mainContent.
	Costly bool
}

// Find returns the part of a text that is its article, as words and numbers are read from it: see text.Plain. It is
// valid until the next call. clean is what text.Clean makes of raw. from decides which rows count. Nil rows: sentences
// are neither left out nor hashed.
func (f *Finder) Find(raw, clean string, from article.Origin, rows *learnt.Rows) (body string, left Left) {
	around, costly := f.around(raw, clean)
	left.Costly = costly
	kept := f.withoutRepeated(around, from, rows)
	left.Repeated = len(around) - len(kept)
	body = kept
	for i := range rules {
		if f.off>>i&1 == 0 {
			body = rules[i].apply(f, body)
		}
	}
	left.Furniture = max(0, len(clean)-left.Repeated-len(body))
	body, f.folded = text.Plain(f.folded, body)
	left.Head = headOf(body)
	return body, left
}

// around returns the clean text of the page's article: of the blocks of an editor, or of an HTML document's main part.
// costly is that of Left.
func (f *Finder) around(raw, clean string) (around string, costly bool) {
	around = clean
	if found := blocksOf(raw); found != "" {
		around = text.Clean(found)
	}
	if f.html == HTMLArticle {
		var found string
		if found, costly = mainContent(document(raw)); found != "" {
			around = text.Clean(found)
		}
	}
	return around, costly
}

// Sentence returns the clean sentence with a hash, empty if the text has none. raw and clean are those of Find.
func (f *Finder) Sentence(raw, clean string, hash uint64) string {
	around, _ := f.around(raw, clean)
	for start, end := range SentencesOf(around) {
		if learnt.Hash(around[start:end]) == hash {
			return around[start:end]
		}
	}
	return ""
}

// headOf returns the length of the lines above an article: there are few of them, they are short and end no sentence,
// and the next line is prose. It is 0 if there are none.
func headOf(body string) int {
	head := 0
	for range limits.FurnitureLines + 1 {
		line, _, found := strings.Cut(body[head:], "\n")
		if len(line) >= utf8.UTFMax*limits.LongLine { // surely as wide
			return head
		}
		l := textLine{}
		l.measure(line)
		switch {
		case l.kind == proseLine:
			return head
		case !found:
			return 0
		}
		head += len(line) + 1
	}
	return 0
}

// withoutRest returns a clean text without the note at its end that says how much an interface has cut off,
// such as "[+2314 chars]" or "... (12 more lines)": a number in brackets, behind an ellipsis or a plus.
func withoutRest(clean string) string {
	text := strings.TrimRight(clean, " \n")
	if text == "" || strings.IndexByte("])", text[len(text)-1]) < 0 {
		return clean
	}
	start := strings.LastIndexAny(text, "[(")
	if start < 0 || len(text)-start > shortLine || !strings.ContainsAny(text[start:], "0123456789") {
		return clean
	}
	before := strings.TrimRight(text[:start], " \n")
	if text[start+1] != '+' && !strings.HasSuffix(before, "..") {
		return clean
	}
	return before
}
