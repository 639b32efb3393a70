package table

import (
	"io"
	"slices"
)

// trie is the form that Entries have in the file. It takes half the space of the array, which is mostly
// places of other nodes.
//
// Nodes come level by level, beginning with the roots, and within a level as Build places them: those with
// the most children first. So the first child of a node mostly lies just behind the first child of the node
// before.
type trie struct {
	children []uint16 // of each root, by code, and then of each node
	gaps     []uint16 // of each node: its code minus the code of the sibling before it
	weights  []uint16 // of each node
	steps    []uint32 // of each parent: entries from the first child of the parent before, modulo 2^32
}

// parent is a node with children.
type parent struct {
	base     *uint32
	children int
}

// level holds the parents of one depth by their number of children, of which maxClass stands for all higher ones.
type level [maxClass + 1][]parent

// add adds a node, if it has children.
func (l *level) add(base *uint32, children int) {
	if children > 0 {
		class := min(children, maxClass)
		l[class] = append(l[class], parent{base, children})
	}
}

// inOrder returns the parents in the order of the file.
func (l *level) inOrder() []parent {
	slices.Reverse(l[:])
	return slices.Concat(l[:]...)
}

// newTrie returns the trie of a table.
func newTrie(t *Table) *trie {
	codes := map[uint32][]uint16{} // of children, by base, in order
	for at, e := range t.Entries {
		if e.Code != NoEntry {
			base := uint32(at) - uint32(e.Code)
			codes[base] = append(codes[base], e.Code)
		}
	}
	f := &trie{}
	add := func(l *level, base *uint32) {
		n := len(codes[*base])
		f.children = append(f.children, uint16(n))
		l.add(base, n)
	}
	var roots level
	for code := range t.Root {
		add(&roots, &t.Root[code])
	}
	first := uint32(0)
	for parents := roots.inOrder(); len(parents) > 0; {
		var next level
		for _, p := range parents {
			before := uint16(0)
			for _, code := range codes[*p.base] {
				e := &t.Entries[*p.base+uint32(code)]
				f.gaps, f.weights = append(f.gaps, code-before), append(f.weights, e.Weight)
				add(&next, &e.Base)
				before = code
			}
			at := *p.base + uint32(codes[*p.base][0])
			f.steps, first = append(f.steps, at-first), at
		}
		parents = next.inOrder()
	}
	return f
}

// enter enters the trie into a table whose entries are free.
func (f *trie) enter(t *Table) {
	var roots level
	for code := range t.Root {
		roots.add(&t.Root[code], int(f.children[code]))
	}
	node, first := 0, uint32(0)
	for parents := roots.inOrder(); len(parents) > 0; {
		var next level
		for _, p := range parents {
			first += f.steps[0]
			f.steps = f.steps[1:]
			*p.base = first - uint32(f.gaps[node])
			code := uint16(0)
			for range p.children {
				code += f.gaps[node]
				e := &t.Entries[*p.base+uint32(code)]
				*e = Entry{Code: code, Weight: f.weights[node]}
				next.add(&e.Base, int(f.children[len(t.Root)+node]))
				node++
			}
		}
		parents = next.inOrder()
	}
}

// planes returns all lowest bytes of the values, then all second bytes, and so on: these compress better than
// whole values.
func planes[T uint16 | uint32](values []T, size int) []byte {
	bytes := make([]byte, 0, size*len(values))
	for k := range size {
		for _, v := range values {
			bytes = append(bytes, byte(v>>(8*k)))
		}
	}
	return bytes
}

// readPlanes reads the n values of a slice that planes returned.
func readPlanes[T uint16 | uint32](r io.Reader, n uint32, size int) ([]T, error) {
	values, plane := make([]T, n), make([]byte, n)
	for k := range size {
		if _, err := io.ReadFull(r, plane); err != nil {
			return nil, damaged(err)
		}
		for i, b := range plane {
			values[i] |= T(b) << (8 * k)
		}
	}
	return values, nil
}

// bytes returns the trie as it stands in the file.
func (f *trie) bytes() []byte {
	return slices.Concat(planes(f.children, 2), planes(f.gaps, 2), planes(f.weights, 2), planes(f.steps, 4))
}

// readTrie reads what bytes returned.
func readTrie(r io.Reader, h *header) (f *trie, err error) {
	f = &trie{}
	for _, column := range []struct {
		to *[]uint16
		n  uint32
	}{{&f.children, h.Codes + h.Nodes}, {&f.gaps, h.Nodes}, {&f.weights, h.Nodes}} {
		if *column.to, err = readPlanes[uint16](r, column.n, 2); err != nil {
			return nil, err
		}
	}
	f.steps, err = readPlanes[uint32](r, h.Parents, 4)
	return f, err
}
