// Package table holds the dictionary of a segmenter in the form in which it is searched: a double array of words, the
// weights of the words, and a hidden Markov model. It reads and writes the table's file and adds user words.
//
// A table numbers the characters that it holds. These numbers are called codes. ASCII characters are their own codes.
// The children of a node lie in Entries at the node's base plus the code of the child. An entry names its own code. No
// two nodes have the same base, so an entry with the right code at base+code can only be a child of that node.
package table

// Codes with a meaning of their own. The codes from First on are characters of the model and, behind them, characters
// of the dictionary alone.
const (
	Unknown = 0x80 + iota // every character that neither the dictionary nor the model holds
	Comma                 // U+FF0C, a separator
	Stop                  // U+3002, a separator
	First
)

// Limits of a table.
const (
	MaxCodes   = 1 << 15
	MaxWeights = 1 << 16
	MaxWord    = 512 // characters; cppjieba does not look for longer words
)

// NoEntry is the code of a free entry.
const NoEntry = 0xFFFF

// Entry is a node of the trie of words: the characters on the way to it begin one or more words.
type Entry struct {
	Base   uint32 // of the children; 0 = no children
	Code   uint16 // of the last character, or NoEntry
	Weight uint16 // index into Weights; 0 = no word ends here
}

// Table is a dictionary and a model. It must not be changed while texts are being cut with it.
type Table struct {
	Runes   []rune    // by code; below First only Comma and Stop and ASCII count
	Root    []uint32  // by code: base of the words that begin with it; 0 = none
	Single  []float64 // by code: weight of the character as a word
	Weights []float64 // logarithms of probabilities; Weights[0] is -Inf
	Entries []Entry
	Model   Model
	Sum     float64 // of all frequencies in the dictionary
	Default float64 // weight of user words without a frequency
}

// Model is a hidden Markov model with the states begin, end, middle and single, in this order. All numbers are
// logarithms of probabilities.
type Model struct {
	Start [4]float64
	Trans [4][4]float64 // from, to
	Emit  [][4]float64  // by code minus First
}
