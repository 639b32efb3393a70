package segment

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// table is the dictionary of a segmenter in the form in which it is searched: a double array of words, the weights of
// the words, and a hidden Markov model. It must not be changed while texts are being cut with it.
//
// A table numbers the characters that it holds. These numbers are called codes. ASCII characters are their own codes.
// The children of a node lie in entries at the node's base plus the code of the child. An entry names its own code. No
// two nodes have the same base, so an entry with the right code at base+code can only be a child of that node.
type table struct {
	runes   []rune    // by code; below firstCode only commaCode and stopCode and ASCII count
	root    []uint32  // by code: base of the words that begin with it; 0 = none
	single  []float64 // by code: weight of the character as a word
	weights []float64 // logarithms of probabilities; weights[0] is -Inf
	entries []entry
	model   model
	sum     float64 // of all frequencies in the dictionary
	median  float64 // weight of user words without a frequency
}

// entry is a node of the trie of words: the characters on the way to it begin one or more words.
type entry struct {
	base   uint32 // of the children; 0 = no children
	code   uint16 // of the last character, or noEntry
	weight uint16 // index into weights; 0 = no word ends here
}

// model is a hidden Markov model with the states begin, end, middle and single, in this order. All numbers are
// logarithms of probabilities.
type model struct {
	start [4]float64
	trans [4][4]float64 // from, to
	emit  [][4]float64  // by code minus firstCode
}

// Codes with a meaning of their own. The codes from firstCode on are characters of the model and, behind them,
// characters of the dictionary alone.
const (
	unknownCode = 0x80 + iota // every character that neither the dictionary nor the model holds
	commaCode                 // U+FF0C, a separator
	stopCode                  // U+3002, a separator
	firstCode
)

// noEntry is the code of a free entry.
const noEntry = 0xFFFF

// header is the beginning of the file, which is one zstd frame with a checksum: the lengths of the parts that follow
// it, little-endian.
type header struct {
	Codes, Known, Weights, Entries, Nodes, Parents uint32
	Sum, Median                                    float64
}

// parts lists what follows the header, except the trie.
func (t *table) parts() []any {
	return []any{t.runes, t.single, t.weights, &t.model.start, &t.model.trans, t.model.emit}
}

// readTable unpacks a file. The program embeds it, and a test compares it with the dictionaries.
func readTable(file []byte) (*table, error) {
	dec, err := zstd.NewReader(bytes.NewReader(file), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	var h header
	if err := binary.Read(dec, binary.LittleEndian, &h); err != nil {
		return nil, err
	}
	t := &table{
		runes: make([]rune, h.Codes), root: make([]uint32, h.Codes), single: make([]float64, h.Codes),
		weights: make([]float64, h.Weights), entries: slices.Repeat([]entry{{code: noEntry}}, int(h.Entries)),
		model: model{emit: make([][4]float64, h.Known)}, sum: h.Sum, median: h.Median,
	}
	columns := make([]byte, 4*(h.Codes+3*h.Nodes+h.Parents))
	for _, part := range append(t.parts(), columns) {
		if err := binary.Read(dec, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	t.enter(columns, &h)
	return t, nil
}

// parent is a node with children.
type parent struct {
	base     *uint32
	children int
}

// maxClass is the number of children from which on nodes are of one class, in level and builder.from.
const maxClass = 64

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

// enter enters the trie into a table whose entries are free. The file has four columns of it: the number of children of
// each root, by code, and then of each node; the gap of each node, its code minus that of the sibling before it; its
// weight; and of each parent the entries from the first child of the parent before, modulo 2^32. Of each column the
// lowest bytes of all values come first, then all second bytes, and so on. These compress better than whole values. The
// whole takes half the space of the array, which is mostly places of other nodes.
//
// Nodes come level by level, beginning with the roots, and within a level as the generator places them: those with the
// most children first. So the first child of a node mostly lies just behind the first child of the node before.
func (t *table) enter(data []byte, h *header) {
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
	children, gaps, weights, steps := column(h.Codes+h.Nodes), column(h.Nodes), column(h.Nodes), column(h.Parents)
	var roots level
	for code := range t.root {
		roots.add(&t.root[code], int(children[code]))
	}
	node, first := 0, uint32(0)
	for parents := roots.inOrder(); len(parents) > 0; {
		var next level
		for _, p := range parents {
			first, steps = first+steps[0], steps[1:]
			*p.base = first - gaps[node]
			code := uint32(0)
			for range p.children {
				code += gaps[node]
				e := &t.entries[*p.base+code]
				*e = entry{code: uint16(code), weight: uint16(weights[node])}
				next.add(&e.base, int(children[len(t.root)+node]))
				node++
			}
		}
		parents = next.inOrder()
	}
}
