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
	out, done := f.kept[:0], 0 // done is how much of the clean text is in out, or left out
	for place, row := range rows.Find(article.PublisherOf(from.Publisher, from.URL), from.Time, f.hashes...) {
		start := f.starts[place]
		end := start + cutSentence(clean[start:])
		f.repeated = append(f.repeated, Repeated{row, clean[start:end]})
		out = append(out, clean[done:start]...)
		done = end
		lineBegins := len(out) == 0 || out[len(out)-1] == '\n'
		if end < len(clean) && (clean[end] == ' ' || clean[end] == '\n' && lineBegins) {
			done++
		}
	}
	slices.Sort(f.hashes)
	f.hashes = slices.Compact(f.hashes)
	if done == 0 {
		return clean
	}
	f.kept = append(out, clean[done:]...)
	return string(f.kept)
}
