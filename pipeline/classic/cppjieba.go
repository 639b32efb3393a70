package classic

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"echosieve/pipeline/dict"
	"echosieve/simhash"
)

// newCPP returns a recipe over the keywords of cppjieba. limit says how many, from the length of the text in bytes.
func newCPP(cut Cut, limit func(length int) int, hash func(string) uint64) (*Extractor, error) {
	idf, err := loadIDF()
	if err != nil {
		return nil, err
	}
	lines, err := dict.Read(dict.StopWords)
	if err != nil {
		return nil, err
	}
	stop := map[string]bool{}
	for line := range strings.Lines(string(lines)) {
		stop[strings.TrimSuffix(line, "\n")] = true
	}
	return &Extractor{hash: hash, words: func(text string) []Word {
		return heaviest(tally(cutAround(cut, text), stop, idf), limit(len(text)))
	}}, nil
}

// noLimit keeps all words, in the order of their bytes.
func noLimit(int) int { return math.MaxInt }

// keywordLimit is the number of keywords for a text of so many bytes: yanyiwu/simhash leaves it to its caller.
func keywordLimit(length int) int { return min(max(length/120, 5), 200) }

// cutAround cuts the text between NULs, at which a C string would end.
func cutAround(cut Cut, text string) (words []string) {
	for part := range strings.SplitSeq(text, "\x00") {
		if part != "" {
			words = cut(words, part)
		}
	}
	return words
}

// tally counts the words as cppjieba's KeywordExtractor does: without single characters and stop words, which
// are compared with case. The result is in the order of the words' bytes, as in cppjieba's std::map.
func tally(cut []string, stop map[string]bool, idf *idfTable) []Word {
	counts := make(map[string]int, len(cut)/2)
	for _, w := range cut {
		if _, size := utf8.DecodeRuneInString(w); size < len(w) && !stop[w] {
			counts[w]++
		}
	}
	words := make([]Word, 0, len(counts))
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		value := idf.of(text, idf.mean)
		words = append(words, Word{Text: text, Count: counts[text], IDF: value, Weight: float64(counts[text]) * value})
	}
	return words
}

// heaviest keeps the n heaviest words, heaviest first; all of them in their order if n is larger than any text.
//
// Many words weigh the same, such as all unknown ones, and which of them are kept decides the fingerprint. In
// C++ std::partial_sort chooses, and the standard leaves the choice to the library. This function chooses
// like GNU's libstdc++: it makes a heap of the first n words, replaces the lightest of the heap by each
// heavier word that follows, and sorts the heap in the end.
func heaviest(words []Word, n int) []Word {
	if n == math.MaxInt {
		return words
	}
	n = min(n, len(words))
	heap := words[:n]
	for parent := n/2 - 1; parent >= 0; parent-- {
		siftDown(heap, parent, heap[parent])
	}
	for _, w := range words[n:] {
		if w.Weight > heap[0].Weight {
			siftDown(heap, 0, w)
		}
	}
	for end := n - 1; end > 0; end-- {
		last := heap[end]
		heap[end] = heap[0]
		siftDown(heap[:end], 0, last)
	}
	return heap
}

// siftDown fills the hole of a heap whose lightest word is at the front: the lighter children move up to the very
// bottom, then w rises from there. A textbook sift stops earlier and leaves equal weights in another order.
func siftDown(heap []Word, hole int, w Word) {
	top := hole
	for child := 2*hole + 2; child <= len(heap); child = 2*hole + 2 {
		if child == len(heap) || heap[child].Weight > heap[child-1].Weight {
			child--
		}
		heap[hole] = heap[child]
		hole = child
	}
	for hole > top {
		parent := (hole - 1) / 2
		if heap[parent].Weight <= w.Weight {
			break
		}
		heap[hole] = heap[parent]
		hole = parent
	}
	heap[hole] = w
}

// table maps words to numbers. It keeps the words' 64-bit hashes instead of the words. That takes a quarter
// of the memory of a map of strings, and the hash of a longer word follows from the hash of its beginning
// (wordKey.add). The probability that two of 500,000 words share a hash is about 1 in 100 million.
type table struct {
	keys   []uint64 // 0 = free; a power of two long, at most half full
	values []float64
}

func newTable(words int) *table {
	size := 1 << bits.Len(uint(2*words))
	return &table{keys: make([]uint64, size), values: make([]float64, size)}
}

// get returns the number of the word with this hash.
func (t *table) get(key uint64) (float64, bool) {
	i := t.find(key)
	return t.values[i], t.keys[i] != 0
}

func (t *table) set(key uint64, value float64) {
	i := t.find(key)
	t.keys[i], t.values[i] = max(key, 1), value
}

// find returns the place of the key, or the free one where it belongs.
func (t *table) find(key uint64) int {
	key = max(key, 1)
	mask := uint64(len(t.keys) - 1)
	for i := key >> 20 & mask; ; i = (i + 1) & mask {
		if t.keys[i] == key || t.keys[i] == 0 {
			return int(i)
		}
	}
}

// idfTable has the inverse document frequencies of jieba. Python and C++ have the same ones, except for
// single characters, which no recipe counts.
type idfTable struct {
	*table
	mean, median float64
}

// of returns the IDF of a word, or unknown if the table does not have the word.
func (t *idfTable) of(word string, unknown float64) float64 {
	if idf, ok := t.get(simhash.Hash(word)); ok {
		return idf
	}
	return unknown
}

// medianIDF is element 135,066 of Python's 270,132 sorted values (jieba 0.42.1). Its table has single characters that
// the embedded one lacks; the median is the same.
const medianIDF = 11.9547675029

var loadIDF = sync.OnceValues(func() (*idfTable, error) {
	data, err := dict.Read(dict.IDF)
	if err != nil {
		return nil, err
	}
	lines := bytes.Count(data, []byte("\n"))
	t := &idfTable{table: newTable(lines), median: medianIDF}
	for fields, line := range fieldsOf(data) {
		idf, err := strconv.ParseFloat(string(fields[len(fields)-1]), 64)
		if len(fields) != 2 || err != nil {
			return nil, fmt.Errorf("line %d of %s is damaged", line, dict.IDF)
		}
		t.set(simhash.Hash(string(fields[0])), idf)
		t.mean += idf
	}
	t.mean /= float64(lines)
	return t, nil
})

// fieldsOf iterates over the lines that are not blank: fields and line number.
func fieldsOf(data []byte) iter.Seq2[[][]byte, int] {
	return func(yield func([][]byte, int) bool) {
		number := 0
		for line := range bytes.Lines(data) {
			number++
			if fields := bytes.Fields(line); len(fields) > 0 && !yield(fields, number) {
				return
			}
		}
	}
}
