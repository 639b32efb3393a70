// Package language tells in which languages a text is written, by their function words: the words that are
// frequent in any text of the language, whatever it is about, such as "der" or "que".
package language

import (
	"bytes"
	"maps"
	"math/bits"
	"slices"
)

// Set is a set of languages, one bit each.
type Set uint64

// Words knows the function words of many languages, by the hashes of the words. Safe for concurrent use.
type Words struct {
	names []string
	// Open addressing by hash. Both are a power of two long, and more than a third is free. They are apart,
	// and small, because the look-ups of a text compete for the processor's cache with larger tables.
	halves []uint32 // upper half of a word's hash; 0 = free
	sets   []uint16 // place in kinds
	kinds  []Set    // the different sets of languages that a word has
}

// New reads a table of lines "language word word ...", at most 64 languages. hash returns the hash of a word
// as texts hold it.
func New(table []byte, hash func(word string) uint64) *Words {
	w := &Words{}
	words := map[uint64]Set{}
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		for _, word := range fields[1:] {
			words[hash(string(word))] |= 1 << len(w.names)
		}
		w.names = append(w.names, string(fields[0]))
	}
	size := 1 << bits.Len(uint(len(words)*3/2))
	w.halves, w.sets, w.kinds = make([]uint32, size), make([]uint16, size), []Set{0}
	places := map[Set]uint16{}
	for _, h := range slices.Sorted(maps.Keys(words)) { // the same table in every process
		set := words[h]
		if places[set] == 0 {
			places[set] = uint16(len(w.kinds))
			w.kinds = append(w.kinds, set)
		}
		at := w.place(h)
		w.halves[at], w.sets[at] = half(h), places[set]
	}
	return w
}

// Of returns the languages of which the word with this hash is a function word.
func (w *Words) Of(hash uint64) Set { return w.kinds[w.sets[w.place(hash)]] }

// place returns where the word with this hash is, or the free place where it belongs.
func (w *Words) place(hash uint64) uint64 {
	mask := uint64(len(w.halves) - 1)
	at := hash & mask
	for w.halves[at] != half(hash) && w.halves[at] != 0 {
		at = (at + 1) & mask
	}
	return at
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
