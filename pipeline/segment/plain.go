package segment

import (
	"echosieve/pipeline/segment/internal/table"
)

// class has the properties of a byte.
type class uint8

const (
	letter    class = 1 << iota
	digit           // 0-9
	separator       // is an ASCII separator
	opens           // begins a word of the dictionary whose second character is ASCII, too
	special         // is itself a user word
	high            // begins a character that is not ASCII
)

// asciiSet is a set of ASCII characters.
type asciiSet [2]uint64

func (a *asciiSet) has(b byte) bool { return b < 0x80 && a[b>>6&1]>>(b&63)&1 != 0 }

// classify fills class and pairs.
func (s *Segmenter) classify() {
	for i := range s.class {
		switch b := byte(i); {
		case b >= 0x80:
			s.class[b] = high
		case isLetter(uint16(b)):
			s.class[b] = letter
		case isDigit(uint16(b)):
			s.class[b] = digit
		case isSeparator(uint16(b)):
			s.class[b] = separator
		}
	}
	for first := range s.pairs {
		if s.alone[uint16(first)] {
			s.class[first] |= special
		}
		for second := range uint16(len(s.pairs)) {
			if base := s.t.Root[first]; base != 0 && s.t.Entries[base+uint32(second)].Code == second {
				s.pairs[first][second>>6] |= 1 << (second & 63)
				s.class[first] |= opens
			}
		}
	}
}

// plain appends the words of the ranges from pos on, up to the first range in which the dictionary or the
// model could join characters. It cuts English and all scripts that the dictionary lacks. It returns the
// start of the range that it did not cut.
func (s *Segmenter) plain(dst []string, text string, pos int) ([]string, int) {
	words := len(dst) // number of words up to the last whole range
	for p := pos; p < len(text); {
		start, c := p, s.class[text[p]]
		if c&(opens|special|high) != 0 && !s.isPlain(text, p) {
			return dst[:words], pos
		}
		p++
		switch {
		case c&letter != 0:
			for p < len(text) && s.class[text[p]]&(letter|digit) != 0 {
				if s.class[text[p]]&(opens|special) != 0 && !s.isPlain(text, p) {
					return dst[:words], pos
				}
				p++
			}
		case c&digit != 0:
			for p < len(text) && (s.class[text[p]]&digit != 0 || text[p] == '.') {
				if s.class[text[p]]&(opens|special) != 0 && !s.isPlain(text, p) {
					return dst[:words], pos
				}
				p++
			}
		case c&high != 0:
			_, size := s.decode(text, start)
			p = start + size
		}
		dst = append(dst, text[start:p])
		if c&separator != 0 {
			words, pos = len(dst), p
		}
	}
	return dst, len(text)
}

// isPlain tells whether no word of two characters or more begins at p and the character is neither a user word nor
// known to the model.
func (s *Segmenter) isPlain(text string, p int) bool {
	b := text[p]
	if b >= 0x80 {
		code, size := s.decode(text, p)
		return size > 0 && code == table.Unknown
	}
	return s.class[b]&special == 0 && (p+1 == len(text) || !s.pairs[b].has(text[p+1]))
}
