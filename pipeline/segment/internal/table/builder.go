package table

import (
	"fmt"
	"slices"
)

// Builder adds words to a table. It is not safe for concurrent use.
type Builder struct {
	t       *Table
	codes   map[rune]uint16
	numbers map[float64]uint16 // of weights
	taken   []bool             // by base: some node has it
	from    [MaxClass + 1]int  // by number of children: Place starts at this entry, because no earlier one has room
}

// MaxClass is the number of children from which on nodes share one value in Builder.from.
const MaxClass = 64

// NewBuilder returns a builder for a table that may hold words.
func NewBuilder(t *Table) *Builder {
	b := &Builder{t: t, codes: make(map[rune]uint16, len(t.Runes)), numbers: make(map[float64]uint16, len(t.Weights))}
	for code, r := range t.Runes {
		if code != Unknown {
			b.codes[r] = uint16(code)
		}
	}
	for number, w := range t.Weights {
		b.numbers[w] = uint16(number)
	}
	b.taken = make([]bool, len(t.Entries))
	for at, e := range t.Entries {
		if e.Code != NoEntry {
			b.taken[at-int(e.Code)] = true
		}
	}
	return b
}

// Codes returns the codes of the characters of a word. New characters get codes.
func (b *Builder) Codes(word []rune) ([]uint16, error) {
	codes := make([]uint16, len(word))
	for i, r := range word {
		code, known := b.codes[r]
		if !known {
			if len(b.t.Runes) == MaxCodes {
				return nil, fmt.Errorf("more than %d different characters", MaxCodes)
			}
			code = uint16(len(b.t.Runes))
			b.codes[r] = code
			b.t.Runes = append(b.t.Runes, r)
			b.t.Root = append(b.t.Root, 0)
			b.t.Single = append(b.t.Single, b.t.Single[Unknown])
		}
		codes[i] = code
	}
	return codes, nil
}

// Number returns the index of a weight. New weights get one.
func (b *Builder) Number(weight float64) (uint16, error) {
	number, known := b.numbers[weight]
	if !known {
		if len(b.t.Weights) == MaxWeights {
			return 0, fmt.Errorf("more than %d different frequencies", MaxWeights)
		}
		number = uint16(len(b.t.Weights))
		b.numbers[weight] = number
		b.t.Weights = append(b.t.Weights, weight)
	}
	return number, nil
}

// Add adds a word, or changes its weight. Words of more than MaxWord characters are left out, because
// cppjieba does not look for them.
func (b *Builder) Add(word string, weight float64) error {
	codes, err := b.Codes([]rune(word))
	if err != nil {
		return err
	}
	number, err := b.Number(weight)
	if err != nil {
		return err
	}
	switch {
	case len(codes) == 1:
		b.t.Single[codes[0]] = weight
	case len(codes) > 1 && len(codes) <= MaxWord:
		at := AtRoot
		for _, code := range codes[1:] {
			at = b.child(at, codes[0], code)
		}
		b.t.Entries[at].Weight = number
	}
	return nil
}

// AtRoot stands for the node of a first character, which has no entry.
const AtRoot = -1

// Base returns where the base of a node is kept: an entry, or the root of words that begin with first.
func (b *Builder) Base(node int, first uint16) *uint32 {
	if node == AtRoot {
		return &b.t.Root[first]
	}
	return &b.t.Entries[node].Base
}

// child returns the entry of a node's child. It adds a missing child. If the child's entry belongs to another node,
// all children of this node move.
func (b *Builder) child(node int, first, code uint16) int {
	base := int(*b.Base(node, first))
	b.extend(base + len(b.t.Runes))
	entries := b.t.Entries
	if base != 0 {
		e := &entries[base+int(code)]
		if e.Code == NoEntry {
			*e = Entry{Code: code}
		}
		if e.Code == code {
			return base + int(code)
		}
	}
	var children []uint16
	for c := range b.t.Runes {
		if base != 0 && entries[base+c].Code == uint16(c) {
			children = append(children, uint16(c))
		}
	}
	moved := b.Place(append(children, code))
	for _, c := range children {
		b.t.Entries[moved+int(c)] = b.t.Entries[base+int(c)]
		b.t.Entries[base+int(c)] = Entry{Code: NoEntry}
	}
	if base != 0 {
		b.taken[base] = false
	}
	*b.Base(node, first) = uint32(moved)
	return moved + int(code)
}

// Place finds a base for a node with these children and enters them, without children of their own.
func (b *Builder) Place(children []uint16) (base int) {
	from := &b.from[min(len(children), MaxClass)]
	first := int(slices.Min(children))
	for at := max(*from, first+1); ; at++ { // base 0 means no children
		base = at - first
		b.extend(base + len(b.t.Runes))
		if b.t.Entries[at].Code == NoEntry && !b.taken[base] && b.fits(base, children) {
			*from = at
			break
		}
	}
	b.taken[base] = true
	for _, c := range children {
		b.t.Entries[base+int(c)] = Entry{Code: c}
	}
	return base
}

func (b *Builder) fits(base int, children []uint16) bool {
	for _, c := range children {
		if b.t.Entries[base+int(c)].Code != NoEntry {
			return false
		}
	}
	return true
}

// extend makes room for n entries.
func (b *Builder) extend(n int) {
	for len(b.t.Entries) < n {
		b.t.Entries = append(b.t.Entries, Entry{Code: NoEntry})
		b.taken = append(b.taken, false)
	}
}

// Finish makes the table as long as a search needs it. The builder must not be used afterwards.
func (b *Builder) Finish() {
	last := 0
	for base, taken := range b.taken {
		if taken {
			last = base
		}
	}
	b.extend(last + len(b.t.Runes))
	b.t.Entries = slices.Clip(b.t.Entries[:last+len(b.t.Runes)])
}

// Code returns the code of a character that the table has.
func (b *Builder) Code(r rune) uint16 { return b.codes[r] }
