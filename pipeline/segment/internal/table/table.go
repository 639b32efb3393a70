// Package table holds the dictionary of a segmenter in the form in which it is searched: a double array of words, the
// weights of the words, and a hidden Markov model. It reads and writes the table's file and adds user words.
//
// A table numbers the characters that it holds. These numbers are called codes. ASCII characters are their own codes.
// The children of a node lie in Entries at the node's base plus the code of the child. An entry names its own code. No
// two nodes have the same base, so an entry with the right code at base+code can only be a child of that node.
package table

import (
	"fmt"
	"math"
)

// Codes with a meaning of their own. The codes from First on are characters of the model and, behind them, characters
// of the dictionary alone.
const (
	Unknown = 0x80 + iota // every character that neither the dictionary nor the model holds
	Comma                 // U+FF0C, a separator
	Stop                  // U+3002, a separator
	First
)

// Limits of a table. They bound the memory that Read allocates for a damaged file to 100 MB.
const (
	MaxCodes   = 1 << 15
	MaxWeights = 1 << 16
	MaxEntries = 1 << 22
	MaxWord    = 512 // characters; cppjieba does not look for longer words
)

// NoEntry is the code of a free entry.
const NoEntry = 0xFFFF

// MinLog stands for the logarithm of zero, as in cppjieba.
const MinLog = -3.14e+100

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

// Forbidden are the transitions that the segmenter leaves out of its search.
var Forbidden = [][2]int{{0, 0}, {0, 3}, {1, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 1}, {3, 2}}

// validate reports the first thing that would make a search go wrong or leave the table.
func (t *Table) validate() error {
	codes := len(t.Runes)
	if codes < First || codes > MaxCodes || len(t.Root) != codes || len(t.Single) != codes ||
		First+len(t.Model.Emit) > codes {
		return fmt.Errorf("table: %d characters, %d of them in the model", codes, len(t.Model.Emit))
	}
	if len(t.Weights) == 0 || len(t.Weights) > MaxWeights || !math.IsInf(t.Weights[0], -1) {
		return fmt.Errorf("table: the first of %d weights must be -Inf", len(t.Weights))
	}
	base := func(b uint32) bool { return int64(b)+int64(codes) <= int64(len(t.Entries)) }
	for code, b := range t.Root {
		if !base(b) {
			return fmt.Errorf("table: the words of character %d lie outside of the table", code)
		}
	}
	for i, e := range t.Entries {
		if e == (Entry{Code: NoEntry}) {
			continue
		}
		if int(e.Code) >= min(codes, i) || e.Code == Unknown || int(e.Weight) >= len(t.Weights) || !base(e.Base) {
			return fmt.Errorf("table: entry %d is damaged", i)
		}
	}
	for code, r := range t.Runes {
		if code < 0x80 && r != rune(code) || code == Comma && r != '\uff0c' || code == Stop && r != '\u3002' || r < 0 {
			return fmt.Errorf("table: character %d is %U", code, r)
		}
	}
	return t.Model.validate()
}

// validate checks that the model has no other start or transition than the segmenter searches, and no probability
// above 1.
func (m *Model) validate() error {
	if m.Start[1] != MinLog || m.Start[2] != MinLog {
		return fmt.Errorf("table: the model starts within a word")
	}
	for _, f := range Forbidden {
		if m.Trans[f[0]][f[1]] != MinLog {
			return fmt.Errorf("table: the model goes from state %d to %d", f[0], f[1])
		}
	}
	for _, row := range append([][4]float64{m.Start}, append(m.Trans[:], m.Emit...)...) {
		for _, v := range row {
			if !(v <= 0 && v >= MinLog) {
				return fmt.Errorf("table: %v is not the logarithm of a probability", v)
			}
		}
	}
	return nil
}
