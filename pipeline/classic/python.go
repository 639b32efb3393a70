package classic

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// pythonStopWords are those of jieba.analyse (0.42.1), compared in lower case.
var pythonStopWords = func() map[string]bool {
	stop := map[string]bool{}
	for _, w := range strings.Fields(`the of is and to in that we for an are by be as on with can if from which you
		it this then at have all not one has or that`) {
		stop[w] = true
	}
	return stop
}()

// newPython returns the recipe of the Python packages jieba and simhash over the topK heaviest words.
func newPython(topK int) (*Extractor, error) {
	idf, err := loadIDF()
	if err != nil {
		return nil, err
	}
	segmenter, err := loadPythonSegmenter()
	if err != nil {
		return nil, err
	}
	return &Extractor{hash: md5Low, words: func(text string) []Word {
		return extractTags(segmenter.cut(nil, text), idf, topK)
	}}, nil
}

// extractTags does what jieba.analyse.extract_tags does with words: those of one character and stop words are out,
// the share of a word in the others times its IDF decides, and among equals the one that occurs first.
//
// The weight in the SimHash is the integer floor(weight x n), where n is the number of words that extract_tags divided
// by: Simhash wants integers, and a share of the words is far below 1. Posts that describe the recipe take other n (10
// or 20, which leaves most words of a long text at 0); how many copies are found changes by less than a hundredth
// between this one, 100, 1000 and no rounding at all.
func extractTags(cut []string, idf *idfTable, topK int) []Word {
	at := make(map[string]int, len(cut)/2)
	var words []Word
	total := 0
	for _, w := range cut {
		if utf8.RuneCountInString(w) < 2 || pythonStopWords[strings.ToLower(w)] {
			continue
		}
		total++
		i, seen := at[w]
		if !seen {
			i = len(words)
			at[w] = i
			words = append(words, Word{Text: w})
		}
		words[i].Count++
	}
	for i := range words {
		w := &words[i]
		w.IDF = idf.of(w.Text, idf.median)
		w.Weight = float64(w.Count) * (w.IDF / float64(total)) // in Python's order, as rounding tells equals apart
	}
	slices.SortStableFunc(words, func(a, b Word) int { return cmp.Compare(b.Weight, a.Weight) })
	words = words[:min(topK, len(words))]
	for i := range words {
		words[i].Weight = math.Floor(words[i].Weight * float64(total))
	}
	return words
}
