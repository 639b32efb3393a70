package classic

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"echosieve/pipeline/dict"
)

// newCPP returns a recipe over the keywords of cppjieba. limit says how many, from the length of the text in bytes;
// with nil all words count, in the order of their bytes.
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
		words := tally(cutAround(cut, text), stop, idf)
		if limit != nil {
			words = heaviest(words, limit(len(text)))
		}
		return words
	}}, nil
}

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

// heaviest keeps the n heaviest words, heaviest first.
//
// Many words weigh the same, such as all unknown ones, and which of them are kept decides the fingerprint. In
// C++ std::partial_sort chooses, and the standard leaves the choice to the library. This function chooses
// like GNU's libstdc++: it makes a heap of the first n words, replaces the lightest of the heap by each
// heavier word that follows, and sorts the heap in the end.
func heaviest(words []Word, n int) []Word {
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

// idfTable has the inverse document frequencies of jieba. Python and C++ have the same ones, except for
// single characters, which no recipe counts.
type idfTable struct {
	words map[string]float64
	mean  float64
}

// of returns the IDF of a word, or unknown if the table does not have the word.
func (t *idfTable) of(word string, unknown float64) float64 {
	if idf, ok := t.words[word]; ok {
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
	t, n := &idfTable{words: make(map[string]float64, 300_000)}, 0
	for line := range strings.Lines(string(data)) {
		word, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if t.words[word], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", dict.IDF, err)
		}
		t.mean += t.words[word]
		n++
	}
	t.mean /= float64(n)
	return t, nil
})
