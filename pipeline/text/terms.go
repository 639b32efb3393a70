package text

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"echosieve/pipeline/dict"
)

// Terms holds the inverse document frequency (IDF) of words, 0 for stop words.
//
// It is a hash table with open addressing that keeps, instead of a word, half of the word's hash: a look-up costs one
// cache miss in 4 MB. The probability that a word is taken for another is about 1 in 2^32.
type Terms struct {
	entries []termEntry // a power of two long, at most half full
	average float32     // IDF of words without an entry: the mean over jieba's table, as in cppjieba
	shapes  *shapes     // which words are one word

	functionWords *functionWords
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
// WordLists that measurements leave out: its words then count as words without an entry; empty: none. The usual terms,
// with neither, are read once and stay loaded: all recipes of a process share them.
func LoadTerms(moreStopWords []byte, without string) (*Terms, error) {
	if len(moreStopWords) == 0 && without == "" {
		return usualTerms()
	}
	return loadTerms(moreStopWords, without)
}

var usualTerms = sync.OnceValues(func() (*Terms, error) { return loadTerms(nil, "") })

func loadTerms(moreStopWords []byte, without string) (*Terms, error) {
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
	t.functionWords = newFunctionWords(function, func(word string) uint64 { return t.shapes.hash(asInTexts(word)) })
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
	folded := fold(nil, word, nil)
	return string(AppendPlain(nil, string(folded)))
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
		buf = fold(buf[:0], string(word), nil)
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

// startOf returns the entry where the search for the word with this hash begins.
func (t *Terms) startOf(hash uint64) *termEntry { return &t.entries[hash&uint64(len(t.entries)-1)] }

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

// languages is a set of languages, one bit each.
type languages uint64

// functionWords knows the function words of many languages, by the hashes of the words: the words that are frequent in
// any text of a language, whatever it is about, such as "der" or "que". Safe for concurrent use.
type functionWords struct {
	english languages
	// Open addressing by hash. Both are a power of two long, and more than a third is free. They are apart,
	// and small, because the look-ups of a text compete for the processor's cache with larger tables.
	halves []uint32    // upper half of a word's hash; 0 = free
	sets   []uint16    // place in kinds
	kinds  []languages // the different sets of languages that a word has
}

// newFunctionWords reads a table of lines "language word word ...", at most 64 languages. hash returns the hash of a
// word as texts hold it.
func newFunctionWords(table []byte, hash func(word string) uint64) *functionWords {
	w, known := &functionWords{}, languages(1) // known is the bit of the language of the line
	words := map[uint64]languages{}
	for line := range bytes.Lines(table) {
		fields := bytes.Fields(line)
		for _, word := range fields[1:] {
			words[hash(string(word))] |= known
		}
		if string(fields[0]) == "en" {
			w.english = known
		}
		known <<= 1
	}
	size := 1 << bits.Len(uint(len(words)*3/2))
	w.halves, w.sets, w.kinds = make([]uint32, size), make([]uint16, size), []languages{0}
	places := map[languages]uint16{}
	for _, h := range slices.Sorted(maps.Keys(words)) { // the same table in every process
		set := words[h]
		if places[set] == 0 {
			places[set] = uint16(len(w.kinds))
			w.kinds = append(w.kinds, set)
		}
		at := w.place(h)
		w.halves[at], w.sets[at] = half(h), places[set]
	}
	return w
}

// of returns the languages of which the word with this hash is a function word.
func (w *functionWords) of(hash uint64) languages { return w.kinds[w.sets[w.place(hash)]] }

// place returns where the word with this hash is, or the free place where it belongs.
func (w *functionWords) place(hash uint64) uint64 {
	mask := uint64(len(w.halves) - 1)
	at := hash & mask
	for w.halves[at] != half(hash) && w.halves[at] != 0 {
		at = (at + 1) & mask
	}
	return at
}

// languageCounts counts the words of a text by the languages of which they are function words.
type languageCounts [64]int32

// add counts a word that occurs n times.
func (c *languageCounts) add(s languages, n int32) {
	for ; s != 0; s &= s - 1 {
		c[bits.TrailingZeros64(uint64(s))] += n
	}
}

// most returns the language with the most function words, as a set, and their number. Of equal ones it is the first.
func (c *languageCounts) most() (languages, int32) {
	most := 0
	for i, n := range c {
		if n > c[most] {
			most = i
		}
	}
	return 1 << most, c[most]
}

// ReadUserWords reads a user dictionary and returns lines "word frequency tag" or "word tag", cleaned like
// the texts. The lines of the file are "word", "word tag", "word frequency" or "word frequency tag". Empty
// lines and lines that begin with "# " do not count. gojieba ends the process at a bad line, so bad lines
// must be found here.
func ReadUserWords(path string) ([]byte, error) {
	return ReadLines(path, func(out []byte, line string) ([]byte, error) {
		fields := strings.Fields(line)
		if len(fields) > 3 {
			return nil, fmt.Errorf("%d fields, wanted: word [frequency] [tag]", len(fields))
		}
		word := Clean(fields[0])
		if word == "" || strings.ContainsAny(word, " \n") {
			return nil, fmt.Errorf("%q is not a word", fields[0])
		}
		frequency, tag := "", "x"
		switch _, err := strconv.ParseUint(fields[min(1, len(fields)-1)], 10, 31); {
		case len(fields) == 3:
			frequency, tag = fields[1], fields[2]
		case len(fields) == 2 && err == nil:
			frequency = fields[1]
		case len(fields) == 2:
			tag = fields[1]
		}
		if frequency == "" {
			return append(out, word+" "+tag+"\n"...), nil
		}
		if n, err := strconv.ParseUint(frequency, 10, 31); err != nil || n == 0 {
			return nil, fmt.Errorf("frequency %q is not a whole number from 1 to 2147483647", frequency)
		}
		return append(out, word+" "+frequency+" "+tag+"\n"...), nil
	})
}

// ReadStopWords reads a file of stop words, one a line, and returns them cleaned like the texts, one a line.
// Empty lines and lines that begin with "# " do not count.
func ReadStopWords(path string) ([]byte, error) {
	return ReadLines(path, func(out []byte, line string) ([]byte, error) {
		word := Clean(line)
		if word == "" || strings.ContainsAny(word, " \n") {
			return nil, fmt.Errorf("%q is not one word", line)
		}
		return append(out, word+"\n"...), nil
	})
}

// ReadLines passes each line of a file to parse, which appends its result to out. Without a path it returns
// nothing. An error names the file and the line.
func ReadLines(path string, parse func(out []byte, line string) ([]byte, error)) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8", path)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var out []byte
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if out, err = parse(out, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return out, nil
}

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
