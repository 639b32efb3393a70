// Package segment cuts text into words, in plain Go. It yields the same words as Cut(text, true) of gojieba v1.4.7, for
// every text, with a sixth (Chinese) to a twenty-fifth (English) of the CPU time and a sixth of the memory. Tests and a
// fuzz target compare the two.
//
// A text is cut as cppjieba cuts it. Only space, tab, line end, U+FF0C and U+3002 separate it into ranges. A
// range is cut along the most probable sequence of dictionary words (cut.go); of equally probable sequences
// the one with the shortest first word wins. Characters that stand alone on this path are joined again:
// letters and digits by rules, other characters by a hidden Markov model (hmm.go). Ranges in which neither
// the dictionary nor the model can join anything are cut by the rules alone (plain.go). A text that ends
// within a character has no words; recipe news cleans texts first, so only the classic recipes get such a
// text.
//
// The dictionary is embedded as table.zst, which "go generate ./pipeline/segment" makes with the command in
// gen. A test rebuilds the table and compares. Package table explains its form and why the logarithms in it
// are frozen.
package segment

import (
	_ "embed" // for the table
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"echosieve/pipeline/segment/internal/table"
)

//go:generate go run ./gen table
//go:generate zstd --ultra -22 --quiet --force --rm table

//go:embed table.zst
var packed []byte

// Word is a word of a user dictionary.
type Word struct {
	Text      string
	Frequency int // 0: the frequency of the median word of the dictionary
}

// Segmenter cuts texts. It is safe for concurrent use.
type Segmenter struct {
	t      *table.Table
	codes  [1 << 16]uint16 // by character of the basic plane
	beyond map[rune]uint16 // codes of the characters beyond it
	alone  map[uint16]bool // user words of one character, which are never joined; nil = none
	class  [256]class      // by byte
	pairs  [128]asciiSet   // by ASCII character: the ASCII characters that follow it in a word of the dictionary
	cuts   sync.Pool       // of *cut
}

// New loads the dictionary and adds the words of a user dictionary to it, which takes some 30 ms and 20 MB of
// memory; 100,000 user words take a second and 40 MB. A word that is already in the dictionary gets the
// frequency of the user dictionary. New fails only if the program is damaged or if the words have tens of
// thousands of different characters or frequencies.
func New(words []Word) (*Segmenter, error) {
	t, err := table.Read(packed)
	if err != nil {
		return nil, fmt.Errorf("segment: the embedded dictionary: %w", err)
	}
	s := &Segmenter{t: t}
	if len(words) > 0 {
		if err := s.add(words); err != nil {
			return nil, fmt.Errorf("segment: %w", err)
		}
	}
	for i := range s.codes {
		s.codes[i] = table.Unknown
	}
	for code, r := range t.Runes {
		switch {
		case code == table.Unknown:
		case r < 1<<16:
			s.codes[r] = uint16(code)
		default:
			if s.beyond == nil {
				s.beyond = map[rune]uint16{}
			}
			s.beyond[r] = uint16(code)
		}
	}
	s.classify()
	s.cuts.New = func() any {
		c := &cut{s: s}
		c.grow()
		return c
	}
	return s, nil
}

// add adds the words of a user dictionary to the table.
func (s *Segmenter) add(words []Word) error {
	b := table.NewBuilder(s.t)
	weights := map[int]float64{0: s.t.Default}
	for _, w := range words {
		weight, known := weights[w.Frequency]
		if !known {
			weight = table.Log(float64(w.Frequency) / s.t.Sum)
			weights[w.Frequency] = weight
		}
		if strings.ContainsAny(w.Text, separators) {
			continue // never found, as in cppjieba, because texts are cut at separators first
		}
		if err := b.Add(w.Text, weight); err != nil {
			return fmt.Errorf("user word %q: %w", w.Text, err)
		}
		if r, size := utf8.DecodeRuneInString(w.Text); size == len(w.Text) {
			if s.alone == nil {
				s.alone = map[uint16]bool{}
			}
			s.alone[b.Code(r)] = true
		}
	}
	return b.Finish()
}

// Cut appends the words of a text to dst, in order. Together they are the text, with two exceptions that come from
// cppjieba: a NUL ends the text, and a text that its decoder refuses has no words. The decoder is lenient: it refuses
// only bytes from 0xF8 on and a character that is cut short at the end.
func (s *Segmenter) Cut(dst []string, text string) []string {
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	c := s.cuts.Get().(*cut)
	words, ok := c.text(dst, text)
	if len(c.codes) <= maxKept {
		s.cuts.Put(c)
	}
	if !ok {
		return dst
	}
	return words
}
