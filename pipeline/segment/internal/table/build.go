package table

import (
	"cmp"
	"slices"
)

// Word is a word of at least two characters.
type Word struct {
	Codes  []uint16
	Number uint16 // of the weight
}

// node is a prefix that several words have in common.
type node struct {
	words    []Word   // those with the prefix, sorted
	depth    int      // characters of the prefix
	at       int      // its entry, or atRoot
	children []uint16 // the codes that follow it
}

// Build enters all words of a dictionary into an empty table. Of words that are there twice the last one
// counts. Build yields a smaller table than Builder.Add for each word: all children of a node are placed at
// once, shorter prefixes first, and of one length those with the most children first.
func (b *Builder) Build(words []Word) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(x, y Word) int { return slices.Compare(x.Codes, y.Codes) })
	level := split(node{words: words}, atRoot)
	for len(level) > 0 {
		slices.SortStableFunc(level, func(x, y node) int {
			return cmp.Compare(min(len(y.children), maxClass), min(len(x.children), maxClass))
		})
		var next []node
		for _, n := range level {
			if len(n.children) == 0 {
				continue
			}
			base := b.place(n.children)
			*b.base(n.at, n.words[0].Codes[0]) = uint32(base)
			next = append(next, split(n, base)...)
		}
		for _, n := range next {
			for _, w := range n.words {
				if len(w.Codes) == n.depth {
					b.t.Entries[n.at].Weight = w.Number
				}
			}
		}
		level = next
	}
}

// split returns the nodes below a node, whose children have a base; at the root, base is atRoot.
func split(parent node, base int) []node {
	var nodes []node
	for _, w := range parent.words {
		if len(w.Codes) == parent.depth {
			continue // the prefix itself is a word
		}
		code := w.Codes[parent.depth]
		last := len(nodes) - 1
		if last < 0 || nodes[last].words[0].Codes[parent.depth] != code {
			at := atRoot
			if base != atRoot {
				at = base + int(code)
			}
			nodes = append(nodes, node{depth: parent.depth + 1, at: at})
			last++
		}
		n := &nodes[last]
		n.words = append(n.words, w)
		if len(w.Codes) > n.depth && (len(n.children) == 0 || n.children[len(n.children)-1] != w.Codes[n.depth]) {
			n.children = append(n.children, w.Codes[n.depth])
		}
	}
	return nodes
}
