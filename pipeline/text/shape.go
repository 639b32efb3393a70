package text

import (
	"bytes"
	"strconv"

	"echosieve/simhash"
)

// A scanned text has misread letters: "modern" is read as "rnoclern", "the" as "thc". With 3 % of its
// characters wrong, one English word in seven is damaged, and each damaged word is a rare word that the
// original lacks. So Latin words with the same shape count as one word. The shape of a word is what is left
// when letters that scanners confuse are written alike. Two words that the tables know stay two words: "oil"
// and "all" have the same shape, but "oll" counts as "all", the more frequent one.

// shapes tells which known words share their shape with a more frequent word. Safe for concurrent use.
type shapes struct {
	others map[string]bool // these words; each has a hash of its own
	bits   [1 << 9]uint64  // a bit by the lowest 15 bits of their shapes: whether others may hold the word
}

// letterShapes is what each letter or digit within a Latin word is written as: up to three characters, then
// 0. The confusions are those of optical character recognition: e and c, a and o, f and t, h and b, v and y,
// l, j and i, m and rn, n and ri, d and cl, u and ii, w and vv, and digits.
var letterShapes = func() (table [256][4]byte) {
	for c := range table {
		table[c][0] = byte(c)
	}
	for c, shape := range map[byte]string{
		'0': "o", '1': "i", '5': "s", '8': "h", '9': "g", 'a': "o", 'b': "h", 'd': "ci", 'e': "c", 'f': "t", 'j': "i",
		'l': "i", 'm': "rri", 'n': "ri",
		'q': "g", 'u': "ii", 'w': "vv", 'y': "v",
	} {
		copy(table[c][:], shape)
	}
	return table
}()

// newShapes finds the words that share their shape in lists of stop words and in IDF tables.
func newShapes(stopWords []byte, tables ...[]byte) *shapes {
	type known struct {
		word string
		idf  float64
	}
	s, first := &shapes{others: map[string]bool{}}, map[uint64]known{}
	var buf []byte
	add := func(word []byte, idf float64) {
		if len(word) == 0 || !isLetter(word[0]|0x20) {
			return
		}
		buf = fold(buf[:0], string(word), nil)
		w := known{string(buf), idf}
		shape := shapeHash(w.word)
		switch f, ok := first[shape]; {
		case !ok:
			first[shape] = w
		case f.word == w.word:
			first[shape] = known{w.word, min(idf, f.idf)}
		case idf < f.idf || idf == f.idf && w.word < f.word:
			s.others[f.word] = true
			delete(s.others, w.word)
			first[shape] = w
		default:
			s.others[w.word] = true
		}
	}
	for line := range bytes.Lines(stopWords) {
		add(bytes.TrimSpace(line), 0)
	}
	for _, table := range tables {
		for line := range bytes.Lines(table) {
			word, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
			if idf, err := strconv.ParseFloat(string(value), 64); err == nil { // terms.add reports a damaged line
				add(word, idf)
			}
		}
	}
	for word := range s.others {
		bits, bit := s.bit(shapeHash(word))
		*bits |= bit
	}
	return s
}

// hash returns the hash of a word. Latin words of one shape have one hash, except the words in others.
func (s *shapes) hash(word string) uint64 {
	if word == "" || !isLetter(word[0]) {
		return simhash.Hash(word)
	}
	hash := shapeHash(word)
	if bits, bit := s.bit(hash); *bits&bit != 0 && s.others[word] {
		return ownHash(word)
	}
	return hash
}

// bit returns where in bits the bit of a shape is.
func (s *shapes) bit(shape uint64) (bits *uint64, bit uint64) {
	return &s.bits[shape/64%uint64(len(s.bits))], 1 << (shape % 64)
}

// ownHash is the hash of a Latin word that is in others. It is mixed once more than simhash.Hash, because
// "post" is also the shape of "past".
func ownHash(word string) uint64 { return simhash.Mix(simhash.Hash(word)) }

// shapeHash is simhash.Hash of the shape of a word.
func shapeHash(word string) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3 // of FNV-1a
	h := uint64(offset)
	for i := range len(word) {
		shape := &letterShapes[word[i]]
		h = (h ^ uint64(shape[0])) * prime
		if shape[1] != 0 {
			h = (h ^ uint64(shape[1])) * prime
			if shape[2] != 0 {
				h = (h ^ uint64(shape[2])) * prime
			}
		}
	}
	return simhash.Mix(h)
}
