package classic

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"echosieve/pipeline/dict"
)

// pythonStopWords are the stop words of jieba.analyse (0.42.1). They are compared in lower case.
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

// extractTags selects words as jieba.analyse.extract_tags does. It leaves out words of one character and stop
// words. A word's weight is its share of the remaining words times its IDF; of equal words the one that
// occurs first is the heavier one.
//
// The weight in the SimHash is the integer floor(weight x n), where n is the number of words that
// extract_tags divided by: Simhash wants integers, and a share of the words is far below 1. Posts that
// describe the recipe take other n: 10 or 20, with which most words of a long text weigh 0. With the n used
// here, with 100, with 1000 and without rounding, the numbers of copies found differ by less than a
// hundredth.
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
		w.IDF = idf.of(w.Text, medianIDF)
		// in Python's order of operations: rounding decides which weights are equal
		w.Weight = float64(w.Count) * (w.IDF / float64(total))
	}
	slices.SortStableFunc(words, func(a, b Word) int { return cmp.Compare(b.Weight, a.Weight) })
	words = words[:min(topK, len(words))]
	for i := range words {
		words[i].Weight = math.Floor(words[i].Weight * float64(total))
	}
	return words
}

// The embedded dictionary is cppjieba's, which has the words of Python's (0.42.1) with these exceptions.
const (
	// pythonRareWords occur three times each, in Python only. cppjieba cannot have words that mix scripts.
	pythonRareWords = `A座 A股 A型 A轮 AA制 AB型 B座 B股 B型 B轮 BB机 BP机 C盘 C座 C语言 CD盒 CD机
		CALL机 D盘 D座 D版 E盘 E座 E化 E通 F盘 F座 G盘 H盘 H股 I盘 IC卡 IP卡 IP电话 IP地址 K党
		K歌之王 N年 O型 PC机 PH值 SIM卡 U盘 VISA卡 Z盘 Q版 QQ号 RSS订阅 T盘 X光 X光线 X射线 γ射线
		T恤衫 T型台 T台 4S店 4s店 江南style 江南Style 1号店 小S 大S 阿Q`
	pythonJilin = 89 // frequency of the province Jilin, which only Python has
	// pythonTotal is the sum of all frequencies, in which Python counts a word twice that the dictionary lists twice.
	pythonTotal = 60101967
)

// cppOnly are words that Python's dictionary lacks.
var cppOnly = map[string]bool{"张力": true, "张华": true}

var loadPythonSegmenter = sync.OnceValues(func() (*pythonSegmenter, error) {
	model, err := dict.ReadModel()
	if err != nil {
		return nil, err
	}
	data, err := dict.Read(dict.Words)
	if err != nil {
		return nil, err
	}
	words := make(map[string]float64, 500_000)
	for line := range strings.Lines(string(data)) {
		word, rest, _ := strings.Cut(line, " ")
		count, _, _ := strings.Cut(rest, " ")
		frequency, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dict.Words, err)
		}
		if !cppOnly[word] {
			addWord(words, word, frequency)
		}
	}
	for _, word := range strings.Fields(pythonRareWords) {
		addWord(words, word, 3)
	}
	addWord(words, "吉林", pythonJilin)
	return &pythonSegmenter{words: words, logTotal: math.Log(pythonTotal), hmm: pythonHMM{model}}, nil
})

// addWord enters a word and its beginnings.
func addWord(words map[string]float64, word string, frequency int) {
	for i := range word {
		if _, found := words[word[:i]]; i > 0 && !found {
			words[word[:i]] = prefixOnly
		}
	}
	words[word] = math.Log(float64(frequency))
}
