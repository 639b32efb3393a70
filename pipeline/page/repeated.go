package page

import (
	"slices"

	"echosieve/pipeline/article"
	"echosieve/pipeline/learnt"
)

// Repeated is a sentence of an article that is left out, because its publisher repeats it.
type Repeated struct {
	learnt.Row
	Text string // the clean sentence
}

// Sentences returns the hashes of the different sentences of the last text, those that are left out included, in
// ascending order, and the sentences that were left out. Both are valid until the next text. They are empty if Find
// had no rows.
func (f *Finder) Sentences() (hashes []uint64, left []Repeated) { return f.hashes, f.repeated }

// withoutRepeated returns a clean text without the sentences that its publisher repeats. A line that becomes empty
// vanishes.
func (f *Finder) withoutRepeated(clean string, from article.Origin, rows *learnt.Rows) string {
	clear(f.repeated)
	f.hashes, f.repeated = f.hashes[:0], f.repeated[:0]
	if rows == nil {
		return clean
	}
	f.starts = f.starts[:0]
	for start, end := range SentencesOf(clean) {
		if end-start >= learnt.MinBytes {
			f.hashes = append(f.hashes, learnt.Hash(clean[start:end]))
			f.starts = append(f.starts, start)
		}
	}
	cut := cutter{out: f.kept[:0], clean: clean}
	for place, row := range rows.Find(article.PublisherOf(from.Publisher, from.URL), from.Time, f.hashes...) {
		start := f.starts[place]
		end := start + cutSentence(clean[start:])
		f.repeated = append(f.repeated, Repeated{row, clean[start:end]})
		cut.leaveOut(start, end)
	}
	slices.Sort(f.hashes)
	f.hashes = slices.Compact(f.hashes)
	f.kept = cut.out
	return cut.rest()
}

// cutter copies a clean text without some of its sentences.
type cutter struct {
	out   []byte
	clean string
	done  int // of clean, in bytes
}

// leaveOut leaves out a sentence behind the ones before, with the space behind it.
func (c *cutter) leaveOut(start, end int) {
	c.out = append(c.out, c.clean[c.done:start]...)
	c.done = end
	lineBegins := len(c.out) == 0 || c.out[len(c.out)-1] == '\n'
	if end < len(c.clean) && (c.clean[end] == ' ' || c.clean[end] == '\n' && lineBegins) {
		c.done++
	}
}

// rest returns what was not left out.
func (c *cutter) rest() string {
	if c.done == 0 {
		return c.clean
	}
	c.out = append(c.out, c.clean[c.done:]...)
	return string(c.out)
}
