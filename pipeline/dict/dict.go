// Package dict holds the dictionaries of the recipes, compressed and embedded, so that the program needs no other files. README.md says
// where they come from and under which licences.
//
// The segmenter of package segment keeps its words in a separate table. The text of jieba's dictionaries is embedded beside it, because
// the recipe id is a hash over the text, and because gojieba and the classic Python recipes read it.
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
	EnglishIDF   = "idf_en.txt"        // lines "word idf", on the scale of IDF; english.go makes it
	StopWords    = "stop_words.utf8"   // one word a line, Chinese and English
	TSCharacters = "ts_characters.txt" // lines of two characters: traditional, simplified

	FunctionWords = "function_words.txt" // lines "language word word ...", the words that are frequent in any text of the language
)

// The strongest level of zstd makes the program 0.6 MB smaller than the strongest level of the Go library. Words and IDF are stored by
// column, and Words is the dictionary of the zstd frame of IDF: nine of ten words of IDF are in Words, almost in the same order, because the
// lines of IDF are sorted. This saves 1.1 MB more.
//
//go:generate go run generate.go
//go:generate zstd --ultra -22 --quiet --force --patch-from=jieba.dict.utf8 --rm idf.utf8
//go:generate zstd --ultra -22 --quiet --force --rm jieba.dict.utf8 hmm_model.utf8 stop_words.utf8 ts_characters.txt function_words.txt

//go:embed *.zst
var files embed.FS

// columns is the number of fields in a line of the dictionaries that are stored by column.
var columns = map[string]int{Words: 3, IDF: 2}

// Read unpacks one of the dictionaries. Each call returns a new slice. It fails only if the program is damaged.
func Read(name string) ([]byte, error) {
	data, err := unpack(name)
	if n := columns[name]; err == nil && n > 0 {
		data = lines(data, n)
	}
	return data, err
}

// lines makes lines of n columns. All fields of the first column come first, each followed by a line feed, then all of the second one.
func lines(data []byte, n int) []byte {
	rows := bytes.Count(data, []byte{'\n'}) / n
	starts, at := make([]int, n), 0
	for column := range starts {
		starts[column] = at
		for range rows {
			at += bytes.IndexByte(data[at:], '\n') + 1
		}
	}
	out := make([]byte, 0, len(data))
	for range rows {
		for column, start := range starts {
			end := start + bytes.IndexByte(data[start:], '\n')
			out = append(append(out, data[start:end]...), ' ')
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
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
	if name == IDF {
		words, err := unpack(Words)
		if err != nil {
			return nil, err
		}
		options = append(options, zstd.WithDecoderDictRaw(0, words))
	}
	dec, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("dict: %s: %w", name, err)
	}
	defer dec.Close()
	data, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("dict: %s: %w", name, err)
	}
	return data, nil
}
