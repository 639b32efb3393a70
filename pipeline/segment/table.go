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
func readTable(packed []byte) (*table, error) {
	dec, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
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
	readTrie(columns, &h).enter(t)
	return t, nil
}
