// Package classic makes the fingerprints of the SimHash recipes that the field has used for years, so that
// users of one of them can compare it with the recipe news before they change. The fingerprints are equal bit
// for bit, where the original can still be run.
//
//	classic-python-200  the Python package simhash (leonsim) over the 200 heaviest words of jieba.analyse.extract_tags
//	classic-python-30   the same over the 30 heaviest
//	classic-yanyiwu     the C++ library yanyiwu/simhash over the keywords of cppjieba
//	classic-fnv         FNV-1a over all words that cppjieba's keyword extraction counts, weighted with TF-IDF
//
// Like their originals, the recipes take the raw text. They know nothing of markup, scripts, width or case.
//
// The two families see different words in one text, so the Python recipes have their own segmentation, and
// only the others use the caller's:
//
//   - Python's jieba cuts at every character that is neither Chinese nor a letter, a digit or one of +#&._%-.
//     It keeps "3.5%" and "4G" whole and knows words of mixed scripts. cppjieba cuts only at space, tab, line
//     end and the Chinese comma and full stop, so its hidden Markov model joins other punctuation to words.
//     It cuts "3.5%" and "4G" in two.
//   - An unknown word has the median IDF in Python and the mean IDF in cppjieba.
//   - Python drops 31 English stop words. cppjieba drops 1,534 Chinese and English ones.
//
// With cppjieba's words three Chinese articles of four get another fingerprint than in Python, 3 bits away on average.
//
// All of this is pure computation over embedded dictionaries, safe for concurrent use.
package classic

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"echosieve/simhash"
)

// Cut appends the words of a text to dst, in order, as jieba cuts it with its hidden Markov model. It must keep the
// text's case and must be safe for concurrent use. The text is valid UTF-8 without NUL.
type Cut func(dst []string, text string) []string

// Word is one feature of a text.
type Word struct {
	Text   string
	Count  int     // how often it occurs
	IDF    float64 // as the recipe's original has it
	Weight float64 // in the SimHash
	Hash   uint64  // in the SimHash
}

// Extractor makes the features of one recipe. Safe for concurrent use.
type Extractor struct {
	words func(text string) []Word
	hash  func(word string) uint64
}

// recipes has the constructors by name.
var recipes = map[string]func(Cut) (*Extractor, error){
	"classic-python-200": func(Cut) (*Extractor, error) { return newPython(200) },
	"classic-python-30":  func(Cut) (*Extractor, error) { return newPython(30) },
	"classic-yanyiwu":    func(cut Cut) (*Extractor, error) { return newCPP(cut, keywordLimit, jenkins) },
	"classic-fnv":        func(cut Cut) (*Extractor, error) { return newCPP(cut, nil, fnv1a) },
}

// Names returns the names of the recipes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(recipes)) }

// New returns the extractor of a recipe. The first of its family loads dictionaries, which takes about a second
// and keeps 20 to 50 MB for the life of the process. The Python recipes do not call cut.
func New(name string, cut Cut) (*Extractor, error) {
	newRecipe := recipes[name]
	if newRecipe == nil {
		return nil, fmt.Errorf("classic: unknown recipe %q, known: %s", name, strings.Join(Names(), ", "))
	}
	e, err := newRecipe(cut)
	if err != nil {
		return nil, fmt.Errorf("classic: %s: %w", name, err)
	}
	return e, nil
}

// Fingerprint returns the SimHash of a text and the number of its features; 0 and 0 if it has none.
func (e *Extractor) Fingerprint(text string) (fp simhash.Fingerprint, features int) {
	words := e.Weights(text)
	return Sum(words), len(words)
}

// Weights returns the features of a text in the order of the original: the heaviest first, except in
// classic-fnv, which sorts by the words' bytes. Invalid UTF-8 is replaced as Python decodes it with
// errors="replace".
func (e *Extractor) Weights(text string) []Word {
	words := e.words(strings.ToValidUTF8(text, "\uFFFD"))
	for i := range words {
		words[i].Hash = e.hash(words[i].Text)
	}
	return words
}

// Sum returns the SimHash of the words that Weights returned. It adds their weights up in their order and in float64,
// as the originals do: simhash.Sum rounds weights, and where a sum is nearly 0 order and rounding decide the bit.
func Sum(words []Word) simhash.Fingerprint {
	var sums [64]float64
	for _, w := range words {
		for i := range sums {
			if w.Hash>>i&1 == 1 {
				sums[i] += w.Weight
			} else {
				sums[i] -= w.Weight
			}
		}
	}
	var fp simhash.Fingerprint
	for i, s := range sums {
		if s > 0 {
			fp |= 1 << i
		}
	}
	return fp
}

// md5Low is the hash of the Python package: the low 64 bits of the MD5 digest, read as a big-endian number.
func md5Low(word string) uint64 {
	digest := md5.Sum([]byte(word))
	return binary.BigEndian.Uint64(digest[8:])
}

// fnv1a is FNV-1a with 64 bits and no finalising mix.
func fnv1a(word string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, word) // never fails
	return h.Sum64()
}

// jenkins is the hash of yanyiwu/simhash: Bob Jenkins's lookup3 (hashlittle2) with both seeds 0, its first result in
// the upper half.
func jenkins(word string) uint64 {
	key := []byte(word)
	a := 0xdeadbeef + uint32(len(key))
	b, c := a, a
	if len(key) == 0 {
		return uint64(c)<<32 | uint64(b)
	}
	for ; len(key) > 12; key = key[12:] {
		a += binary.LittleEndian.Uint32(key)
		b += binary.LittleEndian.Uint32(key[4:])
		c += binary.LittleEndian.Uint32(key[8:])
		a, b, c = jenkinsMix(a, b, c)
	}
	var last [12]byte
	copy(last[:], key)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	b, c = jenkinsFinal(a, b, c)
	return uint64(c)<<32 | uint64(b)
}

// jenkinsMix stirs three words so that no bit of an earlier block is lost.
func jenkinsMix(a, b, c uint32) (uint32, uint32, uint32) {
	for _, r := range [2][3]int{{4, 6, 8}, {16, 19, 4}} {
		a = (a - c) ^ bits.RotateLeft32(c, r[0])
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, r[1])
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, r[2])
		b += a
	}
	return a, b, c
}

// jenkinsFinal stirs the last block; b and c are the hash.
func jenkinsFinal(a, b, c uint32) (uint32, uint32) {
	for _, r := range [2][3]int{{14, 11, 25}, {16, 4, 14}} {
		c = (c ^ b) - bits.RotateLeft32(b, r[0])
		a = (a ^ c) - bits.RotateLeft32(c, r[1])
		b = (b ^ a) - bits.RotateLeft32(a, r[2])
	}
	c = (c ^ b) - bits.RotateLeft32(b, 24)
	return b, c
}
