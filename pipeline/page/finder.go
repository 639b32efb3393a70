package page

import (
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/limits"
)

// shortLine is the width from which a line that ends a sentence is prose in a document, and from which a line can be
// wrapped.
const shortLine = limits.LongLine / 3

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

// Cap is the capacity of the largest buffer, in bytes.
func (f *Finder) Cap() int {
	return max(cap(f.body), cap(f.kept), cap(f.joined), cap(f.plain), cap(f.folded))
}

// Repeated is a sentence of an article that is left out, because its publisher repeats it.
type Repeated struct {
	learnt.Row
	Text string // the clean sentence
}
