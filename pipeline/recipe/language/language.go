// Package language tells in which languages a text is written, by their function words: the words that are frequent in any text of the
// language, whatever it is about, such as "der" or "que".
package language

import (
	"bytes"
	"math/bits"
	"slices"
)

// Set is a set of languages, one bit each.
type Set uint64

// Words knows the function words of many languages, by the hashes of the words. Safe for concurrent use.
type Words struct {
	names   []string
	entries []entry // open addressing by hash; a power of two long, at most half full
}

type entry struct {
	half      uint32 // upper half of the hash; 0 = free
	languages Set
}

// New reads a table of lines "language word word ...", at most 64 languages. hash returns the hash of a word as texts hold it.
func New(table []byte, hash func(word string) uint64) *Words {
	w := &Words{entries: make([]entry, 1<<bits.Len(uint(2*len(bytes.Fields(table)))))}
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		for _, word := range fields[1:] {
			h := hash(string(word))
			e := w.entry(h)
			e.half = half(h)
			e.languages |= 1 << len(w.names)
		}
		w.names = append(w.names, string(fields[0]))
	}
	return w
}

// Of returns the languages of which the word with this hash is a function word.
func (w *Words) Of(hash uint64) Set { return w.entry(hash).languages }

func (w *Words) entry(hash uint64) *entry {
	mask := uint64(len(w.entries) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		if e := &w.entries[at]; e.half == half(hash) || e.half == 0 {
			return e
		}
	}
}

func half(hash uint64) uint32 { return max(uint32(hash>>32), 1) }

// Counts counts the words of a text by the languages of which they are function words.
type Counts [64]int32

// Add counts a word that occurs n times.
func (c *Counts) Add(s Set, n int32) {
	for ; s != 0; s &= s - 1 {
		c[bits.TrailingZeros64(uint64(s))] += n
	}
}

// Most returns the language with the most function words, as a set, and their number. Of equal ones it is the first.
func (c *Counts) Most() (Set, int32) {
	most := 0
	for i, n := range c {
		if n > c[most] {
			most = i
		}
	}
	return 1 << most, c[most]
}

// Named returns the language with a name as a set, empty if there is none.
func (w *Words) Named(name string) Set {
	if i := slices.Index(w.names, name); i >= 0 {
		return 1 << i
	}
	return 0
}
