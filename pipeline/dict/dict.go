// Package dict holds the dictionaries of the recipes, compressed and embedded, so that the program needs no
// other files. README.md says where they come from and under which licences.
//
// The segmenter of package segment keeps its words in a separate table. The text of jieba's dictionaries is
// embedded beside it, because the recipe id is a hash over the text, and because gojieba and the classic
// Python recipes read it.
package dict

import (
	"bytes"
	"embed"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The names of the dictionaries.
const (
	Words        = "jieba.dict.utf8"   // lines "word frequency tag", for segmentation
	HMM          = "hmm_model.utf8"    // hidden Markov model that finds words missing from Words
	IDF          = "idf.utf8"          // lines "word idf"
	EnglishIDF   = "idf_en.txt"        // lines "word idf", on the scale of IDF
	StopWords    = "stop_words.utf8"   // one word a line, Chinese and English
	TSCharacters = "ts_characters.txt" // lines of two characters: traditional, simplified

	// lines "language word word ...", the words that are frequent in any text of the language.
	FunctionWords = "function_words.txt"
)

// The strongest level of zstd makes the program 0.6 MB smaller than the strongest level of the Go library.
// Words is stored by column, and of a word only what differs from the one before it. Nine of ten words of IDF are in
// Words: IDF is stored as one value for each word of Words. Together this saves 1.6 MB more.
//
//go:generate go test . -run TestDictionariesAreTheirOrigins -update
//go:generate zstd --ultra -22 --quiet --force --rm jieba.dict.utf8 hmm_model.utf8 idf.utf8
//go:generate zstd --ultra -22 --quiet --force --rm stop_words.utf8 ts_characters.txt function_words.txt

//go:embed *.zst
var files embed.FS

// wordColumns is the number of fields in a line of Words.
const wordColumns = 3

// Read unpacks one of the dictionaries. Each call returns a new slice. It fails only if the program is damaged.
func Read(name string) ([]byte, error) {
	data, err := unpack(name)
	switch {
	case err != nil:
		return nil, err
	case name == Words:
		return lines(data, wordColumns), nil
	case name == IDF:
		words, err := unpack(Words)
		return joined(words, data), err
	default:
		return data, nil
	}
}

// next returns the word that a field of the first column of Words stands for: a letter that says how many bytes it
// has in common with the word before it, '0' none, and the rest. It changes the word before.
func next(before, field []byte) []byte { return append(before[:field[0]-'0'], field[1:]...) }

// joined makes lines "word value". Values has a line for each word at the beginning of words, which is empty
// if the word has no value. Then it has such lines of other words.
func joined(words, values []byte) []byte {
	out := make([]byte, 0, 3*len(values)/2)
	var word []byte
	for range bytes.Count(words, []byte{'\n'}) / wordColumns {
		end, value := bytes.IndexByte(words, '\n'), bytes.IndexByte(values, '\n')
		word = next(word, words[:end])
		if value > 0 {
			out = append(append(append(out, word...), ' '), values[:value+1]...)
		}
		words, values = words[end+1:], values[value+1:]
	}
	return append(out, values...)
}

// lines makes lines of n columns. All fields of the first column come first, each followed by a line feed,
// then all of the second one.
func lines(data []byte, n int) []byte {
	rows := bytes.Count(data, []byte{'\n'}) / n
	starts, at := make([]int, n), 0
	for column := range starts {
		starts[column] = at
		for range rows {
			at += bytes.IndexByte(data[at:], '\n') + 1
		}
	}
	out := make([]byte, 0, 3*len(data)/2)
	var word []byte
	for range rows {
		for column, start := range starts {
			end := start + bytes.IndexByte(data[start:], '\n')
			field := data[start:end]
			if column == 0 {
				word = next(word, field)
				field = word
			}
			out = append(append(out, field...), ' ')
			starts[column] = end + 1
		}
		out[len(out)-1] = '\n'
	}
	return out
}

// unpack returns what a dictionary's file holds, not compressed.
func unpack(name string) ([]byte, error) {
	packed, err := files.ReadFile(name + ".zst")
	if err != nil {
		return nil, fmt.Errorf("dict: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err == nil {
		defer dec.Close()
		packed, err = dec.DecodeAll(packed, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("dict: %s: %w", name, err)
	}
	return packed, nil
}
