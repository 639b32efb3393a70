package text

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/dict"
	"echosieve/pipeline/text/language"
	"echosieve/pipeline/text/marks"
)

// Terms holds the inverse document frequency (IDF) of words, 0 for stop words.
//
// It is a hash table with open addressing that keeps, instead of a word, half of the word's hash: a look-up costs one
// cache miss in 4 MB. The probability that a word is taken for another is about 1 in 2^32.
type Terms struct {
	entries []termEntry // a power of two long, at most half full
	average float32     // IDF of words without an entry: the mean over jieba's table, as in cppjieba
	shapes  *shapes     // which words are one word

	functionWords *language.Words
	english       language.Set
}

type termEntry struct {
	half uint32 // upper half of the hash; 0 = free
	idf  float32
}

// WordLists are the lists of words that LoadTerms reads.
func WordLists() []string {
	return []string{dict.IDF, dict.EnglishIDF, dict.StopWords, dict.FunctionWords}
}

// LoadTerms reads the embedded IDF tables and stop words. moreStopWords are the user's, one a line. without is one of
// WordLists that measurements leave out: its words then count as words without an entry; empty: none.
func LoadTerms(moreStopWords []byte, without string) (*Terms, error) {
	table, err := dict.Read(dict.IDF)
	if err != nil {
		return nil, err
	}
	english, err := dict.Read(dict.EnglishIDF)
	if err != nil {
		return nil, err
	}
	stopWords, err := readUnless(without, dict.StopWords)
	if err != nil {
		return nil, err
	}
	stopWords = append(append(stopWords, '\n'), moreStopWords...)
	lines := bytes.Count(table, []byte("\n")) + bytes.Count(english, []byte("\n")) +
		bytes.Count(stopWords, []byte("\n"))
	t := &Terms{entries: make([]termEntry, 1<<bits.Len(uint(2*lines))), shapes: newShapes(stopWords, table, english)}

	average, err := t.add(dict.IDF, table, without)
	if err != nil {
		return nil, err
	}
	t.average = average
	if _, err := t.add(dict.EnglishIDF, english, without); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(stopWords) {
		hash := t.shapes.hash(asInTexts(string(line)))
		*t.entry(hash) = termEntry{half: half(hash)}
	}
	function, err := readUnless(without, dict.FunctionWords)
	if err != nil {
		return nil, err
	}
	t.functionWords = language.New(function, func(word string) uint64 { return t.shapes.hash(asInTexts(word)) })
	t.english = t.functionWords.Named("en")
	return t, nil
}

// readUnless reads a list, which is empty if it is the one to do without.
func readUnless(without, name string) ([]byte, error) {
	if name == without {
		return nil, nil
	}
	return dict.Read(name)
}

// asInTexts returns a word of a table as the words of texts are written.
func asInTexts(word string) string {
	folded, _ := fold(nil, word)
	return string(marks.AppendPlain(nil, string(folded)))
}

// add enters the lines "word idf" of a table and returns the average IDF. A word that an earlier table has
// gets the new IDF. The table without is not entered.
func (t *Terms) add(name string, table []byte, without string) (average float32, err error) {
	sum, n := 0.0, 0
	buf := make([]byte, 0, 64)
	mine := map[uint64]bool{}
	for line := range bytes.Lines(table) {
		word, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		idf, err := strconv.ParseFloat(string(value), 64)
		if !ok || err != nil {
			return 0, errors.Join(fmt.Errorf("line %d of %s is damaged", n+1, name), err)
		}
		sum += idf
		n++
		// jieba's table has words in capitals and in Traditional script, but clean texts have them in lower
		// case and Simplified. Where the table has both forms of a word, the entry of the folded form counts.
		buf, _ = fold(buf[:0], string(word))
		if hash := t.shapes.hash(string(buf)); name != without && (!mine[hash] || bytes.Equal(buf, word)) {
			*t.entry(hash) = termEntry{half: half(hash), idf: float32(idf)}
			mine[hash] = true
		}
	}
	return float32(sum / float64(n)), nil
}

// of returns the IDF of the word with this hash, 0 if it is a stop word.
func (t *Terms) of(hash uint64) float32 {
	if e := t.entry(hash); e.half != 0 {
		return e.idf
	}
	return t.average
}

// entry returns the entry of the word with this hash, or the free one where it belongs.
func (t *Terms) entry(hash uint64) *termEntry {
	mask := uint64(len(t.entries) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		if e := &t.entries[at]; e.half == half(hash) || e.half == 0 {
			return e
		}
	}
}

func half(hash uint64) uint32 { return max(uint32(hash>>32), 1) }

// isWord tells whether a piece of a cut text holds a letter or digit. Other pieces are punctuation and symbols.
func isWord(piece string) bool {
	if len(piece) < 2 {
		return piece != "" && beginsWord[piece[0]]
	}
	c := piece[0]
	return beginsWord[c] || c == 0xe4 && piece[1] >= 0xb8 || strings.ContainsFunc(piece, isLetterOrDigit)
}

// beginsWord says of the first byte of a character whether it is surely a letter or digit: ASCII, and U+5000
// to U+9FFF. It spares most pieces a function call. E4 B8 begins U+4E00.
var beginsWord = func() (table [256]bool) {
	for c := range table {
		table[c] = c < utf8.RuneSelf && classOf(rune(c)) >= classDigit || c >= 0xe5 && c <= 0xe9
	}
	return table
}()

func isLetterOrDigit(r rune) bool { return classOf(r) >= classDigit }

// isSingle tells whether a word has only one character. Such words are no features: most are particles or
// parts of unknown words.
func isSingle(word string) bool {
	if beginsHan(word[0]) { // most words, without a function call
		return len(word) == 3
	}
	_, size := utf8.DecodeRuneInString(word)
	return size == len(word)
}
