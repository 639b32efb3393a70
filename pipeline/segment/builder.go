package segment

import (
	"fmt"
	"slices"
)

// Limits of a table.
const (
	maxCodes   = 1 << 15
	maxWeights = 1 << 16
	maxWord    = 512 // characters; cppjieba does not look for longer words
)

// builder adds words to a table. It is not safe for concurrent use.
type builder struct {
	t       *table
	codes   map[rune]uint16
	numbers map[float64]uint16 // of weights
	taken   []bool             // by base: some node has it
	from    [maxClass + 1]int  // by number of children: place starts at this entry, because no earlier one has room
}

// newBuilder returns a builder for a table that may hold words.
func newBuilder(t *table) *builder {
	b := &builder{t: t, codes: make(map[rune]uint16, len(t.runes)), numbers: make(map[float64]uint16, len(t.weights))}
	for code, r := range t.runes {
		if code != unknownCode {
			b.codes[r] = uint16(code)
		}
	}
	for number, w := range t.weights {
		b.numbers[w] = uint16(number)
	}
	b.taken = make([]bool, len(t.entries))
	for at, e := range t.entries {
		if e.code != noEntry {
			b.taken[at-int(e.code)] = true
		}
	}
	return b
}

// codesOf returns the codes of the characters of a word. New characters get codes.
func (b *builder) codesOf(word []rune) ([]uint16, error) {
	codes := make([]uint16, len(word))
	for i, r := range word {
		code, known := b.codes[r]
		if !known {
			if len(b.t.runes) == maxCodes {
				return nil, fmt.Errorf("more than %d different characters", maxCodes)
			}
			code = uint16(len(b.t.runes))
			b.codes[r] = code
			b.t.runes = append(b.t.runes, r)
			b.t.root = append(b.t.root, 0)
			b.t.single = append(b.t.single, b.t.single[unknownCode])
		}
		codes[i] = code
	}
	return codes, nil
}

// numberOf returns the index of a weight. New weights get one.
func (b *builder) numberOf(weight float64) (uint16, error) {
	number, known := b.numbers[weight]
	if !known {
		if len(b.t.weights) == maxWeights {
			return 0, fmt.Errorf("more than %d different frequencies", maxWeights)
		}
		number = uint16(len(b.t.weights))
		b.numbers[weight] = number
		b.t.weights = append(b.t.weights, weight)
	}
	return number, nil
}

// add adds a word, or changes its weight. Words of more than maxWord characters are left out, because
// cppjieba does not look for them.
func (b *builder) add(word string, weight float64) error {
	codes, err := b.codesOf([]rune(word))
	if err != nil {
		return err
	}
	number, err := b.numberOf(weight)
	if err != nil {
		return err
	}
	switch {
	case len(codes) == 1:
		b.t.single[codes[0]] = weight
	case len(codes) > 1 && len(codes) <= maxWord:
		at := atRoot
		for _, code := range codes[1:] {
			at = b.child(at, codes[0], code)
		}
		b.t.entries[at].weight = number
	}
	return nil
}

// atRoot stands for the node of a first character, which has no entry.
const atRoot = -1

// base returns where the base of a node is kept: an entry, or the root of words that begin with first.
func (b *builder) base(node int, first uint16) *uint32 {
	if node == atRoot {
		return &b.t.root[first]
	}
	return &b.t.entries[node].base
}

// child returns the entry of a node's child. It adds a missing child. If the child's entry belongs to another node,
// all children of this node move.
func (b *builder) child(node int, first, code uint16) int {
	base := int(*b.base(node, first))
	b.extend(base + len(b.t.runes))
	entries := b.t.entries
	if base != 0 {
		e := &entries[base+int(code)]
		if e.code == noEntry {
			*e = entry{code: code}
		}
		if e.code == code {
			return base + int(code)
		}
	}
	var children []uint16
	for c := range b.t.runes {
		if base != 0 && entries[base+c].code == uint16(c) {
			children = append(children, uint16(c))
		}
	}
	moved := b.place(append(children, code))
	for _, c := range children {
		b.t.entries[moved+int(c)] = b.t.entries[base+int(c)]
		b.t.entries[base+int(c)] = entry{code: noEntry}
	}
	if base != 0 {
		b.taken[base] = false
	}
	*b.base(node, first) = uint32(moved)
	return moved + int(code)
}

// place finds a base for a node with these children and enters them, without children of their own.
func (b *builder) place(children []uint16) (base int) {
	from := &b.from[min(len(children), maxClass)]
	first := int(slices.Min(children))
	for at := max(*from, first+1); ; at++ { // base 0 means no children
		base = at - first
		b.extend(base + len(b.t.runes))
		if b.t.entries[at].code == noEntry && !b.taken[base] && b.fits(base, children) {
			*from = at
			break
		}
	}
	b.taken[base] = true
	for _, c := range children {
		b.t.entries[base+int(c)] = entry{code: c}
	}
	return base
}

func (b *builder) fits(base int, children []uint16) bool {
	return !slices.ContainsFunc(children, func(c uint16) bool { return b.t.entries[base+int(c)].code != noEntry })
}

// extend makes room for n entries.
func (b *builder) extend(n int) {
	for len(b.t.entries) < n {
		b.t.entries = append(b.t.entries, entry{code: noEntry})
		b.taken = append(b.taken, false)
	}
}

// finish makes the table as long as a search needs it. The builder must not be used afterwards.
func (b *builder) finish() {
	last := len(b.taken) - 1
	for last > 0 && !b.taken[last] {
		last--
	}
	b.extend(last + len(b.t.runes))
	b.t.entries = slices.Clip(b.t.entries[:last+len(b.t.runes)])
}
