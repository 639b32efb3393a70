package main

import (
	"cmp"
	"slices"

	"echosieve/pipeline/segment/internal/table"
)

// coded is a word of at least two characters.
type coded struct {
	codes  []uint16
	number uint16 // of the weight
}

// node is a prefix that several words have in common.
type node struct {
	words    []coded  // those with the prefix, sorted
	depth    int      // characters of the prefix
	at       int      // its entry, or table.AtRoot
	children []uint16 // the codes that follow it
}

// enter enters all words of a dictionary into an empty table. Of words that are there twice the last one
// counts. It yields a smaller table than Builder.Add for each word: all children of a node are placed at
// once, shorter prefixes first, and of one length those with the most children first.
func enter(t *table.Table, b *table.Builder, words []coded) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(x, y coded) int { return slices.Compare(x.codes, y.codes) })
	level := split(node{words: words}, table.AtRoot)
	for len(level) > 0 {
		slices.SortStableFunc(level, func(x, y node) int {
			return cmp.Compare(min(len(y.children), table.MaxClass), min(len(x.children), table.MaxClass))
		})
		var next []node
		for _, n := range level {
			if len(n.children) == 0 {
				continue
			}
			base := b.Place(n.children)
			*b.Base(n.at, n.words[0].codes[0]) = uint32(base)
			next = append(next, split(n, base)...)
		}
		for _, n := range next {
			for _, w := range n.words {
				if len(w.codes) == n.depth {
					t.Entries[n.at].Weight = w.number
				}
			}
		}
		level = next
	}
}

// split returns the nodes below a node, whose children have a base; at the root, base is table.AtRoot.
func split(parent node, base int) []node {
	var nodes []node
	for _, w := range parent.words {
		if len(w.codes) == parent.depth {
			continue // the prefix itself is a word
		}
		code := w.codes[parent.depth]
		last := len(nodes) - 1
		if last < 0 || nodes[last].words[0].codes[parent.depth] != code {
			at := table.AtRoot
			if base != table.AtRoot {
				at = base + int(code)
			}
			nodes = append(nodes, node{depth: parent.depth + 1, at: at})
			last++
		}
		n := &nodes[last]
		n.words = append(n.words, w)
		if len(w.codes) > n.depth && (len(n.children) == 0 || n.children[len(n.children)-1] != w.codes[n.depth]) {
			n.children = append(n.children, w.codes[n.depth])
		}
	}
	return nodes
}
