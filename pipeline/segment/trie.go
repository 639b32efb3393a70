package segment

import "slices"

// trie is the form that entries have in the file. It takes half the space of the array, which is mostly
// places of other nodes.
//
// Nodes come level by level, beginning with the roots, and within a level as the generator places them: those with
// the most children first. So the first child of a node mostly lies just behind the first child of the node
// before.
type trie struct {
	children []uint32 // of each root, by code, and then of each node
	gaps     []uint32 // of each node: its code minus the code of the sibling before it
	weights  []uint32 // of each node
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

// enter enters the trie into a table whose entries are free.
func (f *trie) enter(t *table) {
	var roots level
	for code := range t.root {
		roots.add(&t.root[code], int(f.children[code]))
	}
	node, first := 0, uint32(0)
	for parents := roots.inOrder(); len(parents) > 0; {
		var next level
		for _, p := range parents {
			first += f.steps[0]
			f.steps = f.steps[1:]
			*p.base = first - f.gaps[node]
			code := uint32(0)
			for range p.children {
				code += f.gaps[node]
				e := &t.entries[*p.base+code]
				*e = entry{code: uint16(code), weight: uint16(f.weights[node])}
				next.add(&e.base, int(f.children[len(t.root)+node]))
				node++
			}
		}
		parents = next.inOrder()
	}
}

// readTrie reads a trie as it stands in the file: of each column the lowest bytes of all values, then all second
// bytes, and so on. These compress better than whole values.
func readTrie(data []byte, h *header) *trie {
	column := func(n uint32) []uint32 {
		values := make([]uint32, n)
		for shift := 0; shift < 32; shift += 8 {
			for i := range values {
				values[i] |= uint32(data[i]) << shift
			}
			data = data[n:]
		}
		return values
	}
	return &trie{children: column(h.Codes + h.Nodes), gaps: column(h.Nodes), weights: column(h.Nodes),
		steps: column(h.Parents)}
}
