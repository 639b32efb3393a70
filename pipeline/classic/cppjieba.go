package classic

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/dict"
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

// tally counts the words as cppjieba's KeywordExtractor does: single characters and stop words are out, a word is
// matched as it is written. The result is in the order of the words' bytes, as in its std::map.
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
// Many words weigh the same, such as all unknown ones, and which of them are kept decides the fingerprint. In C++ that
// is std::partial_sort: the standard leaves the choice to the library, and this is the choice of GNU's libstdc++, a heap
// of the n first words whose lightest gives way to each heavier word that follows, sorted in the end.
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
