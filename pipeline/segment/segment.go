// Package segment cuts text into words, in plain Go. It yields the same words as Cut(text, true) of gojieba v1.4.7,
// for every text, with an eighth to a quarter of the CPU time and a sixth of the memory. Tests and a fuzz target
// compare the two.
//
// A text is cut as cppjieba cuts it. Only space, tab, line end, U+FF0C and U+3002 separate it into ranges. A
// range is cut along the most probable sequence of dictionary words; of equally probable sequences
// the one with the shortest first word wins. Characters that stand alone on this path are joined again:
// letters and digits by rules, other characters by a hidden Markov model (hmm.go). A text that ends within a
// character has no words; recipe news cleans texts first, so only the classic recipes get such a text.
//
// The dictionary is embedded as table.zst, which "go generate ./pipeline/segment" makes by a test that otherwise
// compares. File table.go explains its form, log.go why the logarithms in it are frozen.
package segment

import (
	_ "embed" // for the table
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:generate go test . -run TestTableIsUpToDate -update
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
	t      *table
	codes  [1 << 16]uint16 // by character of the basic plane
	beyond map[rune]uint16 // codes of the characters beyond it
	alone  map[uint16]bool // user words of one character, which are never joined; nil = none
	cuts   sync.Pool       // of *cut
}

// New loads the dictionary and adds the words of a user dictionary to it, which takes some 30 ms and 20 MB of
// memory; 100,000 user words take a second and 40 MB. A word that is already in the dictionary gets the
// frequency of the user dictionary. New fails only if the program is damaged or if the words have tens of
// thousands of different characters or frequencies.
func New(words []Word) (*Segmenter, error) {
	t, err := readTable(packed)
	if err != nil {
		return nil, fmt.Errorf("segment: the embedded dictionary: table: %w", err)
	}
	s := &Segmenter{t: t, beyond: map[rune]uint16{}}
	if len(words) > 0 {
		if err := s.add(words); err != nil {
			return nil, fmt.Errorf("segment: %w", err)
		}
	}
	for i := range s.codes {
		s.codes[i] = unknownCode
	}
	for code, r := range t.runes {
		switch {
		case code == unknownCode:
		case r < 1<<16:
			s.codes[r] = uint16(code)
		default:
			s.beyond[r] = uint16(code)
		}
	}
	s.cuts.New = func() any {
		c := &cut{s: s}
		c.grow()
		return c
	}
	return s, nil
}

// add adds the words of a user dictionary to the table.
func (s *Segmenter) add(words []Word) error {
	b := newBuilder(s.t)
	weights := map[int]float64{0: s.t.median}
	for _, w := range words {
		weight, known := weights[w.Frequency]
		if !known {
			weight = logarithm(float64(w.Frequency) / s.t.sum)
			weights[w.Frequency] = weight
		}
		if strings.ContainsAny(w.Text, separators) {
			continue // never found, as in cppjieba, because texts are cut at separators first
		}
		if err := b.add(w.Text, weight); err != nil {
			return fmt.Errorf("user word %q: %w", w.Text, err)
		}
		if r, size := utf8.DecodeRuneInString(w.Text); size == len(w.Text) {
			if s.alone == nil {
				s.alone = map[uint16]bool{}
			}
			s.alone[b.codes[r]] = true
		}
	}
	b.finish()
	return nil
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

// separators end a range. Each separator is itself a word.
const separators = " \t\n\uff0c\u3002"

// maxKept is the number of characters of the largest buffers that are kept for the next text. A character
// takes about 30 bytes.
const maxKept = 1 << 15

// cut holds the buffers for one range, all of the same length. They are indexed by the character's number in
// the range. The element behind the last character holds a value that ends a search.
type cut struct {
	s       *Segmenter
	n       int      // characters of the range
	codes   []uint16 // unknownCode behind them
	offsets []int    // in the text; the end of the range behind them
	// of the pair that ends here; its code is not this character's if no word begins with the pair; no entry behind them
	pairs   []entry
	weights []float64 // of the most probable path from here; 0 behind them
	lengths []uint16  // of the word that begins here on this path, in characters
	states  []uint8   // see viterbi
}

// text appends the words of a text. It reports whether the text could be decoded.
func (c *cut) text(dst []string, text string) ([]string, bool) {
	for pos := 0; pos < len(text); {
		end, separator, ok := c.read(text, pos)
		if !ok {
			return dst, false
		}
		if end > pos {
			c.findPath()
			dst = c.appendWords(dst, text)
		}
		pos = end + separator
		if separator > 0 {
			dst = append(dst, text[end:pos])
		}
	}
	return dst, true
}

// read decodes the range that begins at pos and looks up its pairs of characters. It returns the end of the
// range and the length of the separator behind it. The look-ups of the pairs are most of the cache misses;
// they are made here because none of them depends on the one before, so that they overlap.
func (c *cut) read(text string, pos int) (end, separator int, ok bool) {
	s := c.s
	entries, root := s.t.entries, s.t.root
	codes, offsets, pairs := c.codes, c.offsets, c.pairs
	base, n := uint32(0), 0
	for pos < len(text) {
		var code uint16
		size := 3
		// nearly all characters that come here; decode is not inlined
		if b := text[pos]; b>>4 == 0xe && pos+2 < len(text) {
			code = s.codes[uint16(b)<<12|uint16(text[pos+1]&0x3f)<<6|uint16(text[pos+2]&0x3f)]
		} else if code, size = s.decode(text, pos); size == 0 {
			return 0, 0, false
		}
		if code <= stopCode && isSeparator(code) {
			separator = size
			break
		}
		if n+1 >= len(pairs) {
			c.grow()
			codes, offsets, pairs = c.codes, c.offsets, c.pairs
		}
		pairs[n] = entries[base+uint32(code)] // of the character before and this one
		codes[n], offsets[n] = code, pos
		base = root[code]
		n++
		pos += size
	}
	codes[n], offsets[n], pairs[n] = unknownCode, pos, entry{code: noEntry}
	c.n = n
	return pos, separator, true
}

// grow doubles the buffers and keeps what they hold.
func (c *cut) grow() {
	n := max(512, 2*len(c.codes))
	c.codes = append(make([]uint16, 0, n), c.codes...)[:n]
	c.offsets = append(make([]int, 0, n), c.offsets...)[:n]
	c.pairs = append(make([]entry, 0, n), c.pairs...)[:n]
	c.weights = make([]float64, n)
	c.lengths = make([]uint16, n)
	c.states = make([]uint8, n)
}

func isSeparator(code uint16) bool {
	return code == ' ' || code == '\t' || code == '\n' || code == commaCode || code == stopCode
}

// decode returns the code and the length of the character at pos as cppjieba decodes it: it does not check
// whether the bytes behind the first one continue a character. The length is 0 if cppjieba refuses the bytes.
func (s *Segmenter) decode(text string, pos int) (code uint16, size int) {
	switch b, left := rune(text[pos]), len(text)-pos; {
	case b < 0x80:
		return uint16(b), 1
	case b <= 0xdf && left > 1:
		return s.codes[b&0x1f<<6|rune(text[pos+1]&0x3f)], 2
	case b <= 0xef && left > 2:
		return s.codes[b&0xf<<12|rune(text[pos+1]&0x3f)<<6|rune(text[pos+2]&0x3f)], 3
	case b <= 0xf7 && left > 3:
		r := b&7<<18 | rune(text[pos+1]&0x3f)<<12 | rune(text[pos+2]&0x3f)<<6 | rune(text[pos+3]&0x3f)
		if r < 1<<16 {
			return s.codes[r], 4
		}
		if code, known := s.beyond[r]; known {
			return code, 4
		}
		return unknownCode, 4
	}
	return 0, 0
}

// findPath finds the most probable way to cut the range into words of the dictionary and single characters.
// It adds the weights up from the end, in the order of cppjieba, because the order decides the last bits of a
// sum. Of equal sums the one with the shortest first word wins.
func (c *cut) findPath() {
	n := c.n
	codes, pairs, paths, lengths := c.codes[:n+1], c.pairs[:n+1], c.weights[:n+1], c.lengths[:n+1]
	single, weights, entries := c.s.t.single, c.s.t.weights, c.s.t.entries
	paths[n] = 0
	for i := n - 1; i >= 0; i-- {
		best, length := paths[i+1]+single[codes[i]], 1
		if e := pairs[i+1]; e.code == codes[i+1] {
			for end := i + 2; ; end++ {
				if w := paths[end] + weights[e.weight]; w > best {
					best, length = w, end-i
				}
				if e.base == 0 {
					break
				}
				if e = entries[e.base+uint32(codes[end])]; e.code != codes[end] {
					break
				}
			}
		}
		paths[i], lengths[i] = best, uint16(length)
	}
}

// appendWords appends the words of the range. Characters that stand alone on the path are joined where the
// rules or the model join them, except user words.
func (c *cut) appendWords(dst []string, text string) []string {
	for i := 0; i < c.n; {
		end := i + int(c.lengths[i])
		if !c.isSingle(i) {
			dst = append(dst, text[c.offsets[i]:c.offsets[end]])
			i = end
			continue
		}
		for end < c.n && c.isSingle(end) {
			end++
		}
		dst = c.join(dst, text, i, end)
		i = end
	}
	return dst
}

// isSingle tells whether a character stands alone on the path and is no user word.
func (c *cut) isSingle(i int) bool {
	return c.lengths[i] == 1 && (c.s.alone == nil || !c.s.alone[c.codes[i]])
}
