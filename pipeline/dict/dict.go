// Package dict holds the dictionaries of the recipes, compressed and embedded, so that the program needs no other files. README.md says
// where they come from and under which licences.
//
// The segmenter of package segment keeps its words in a separate table. The text of jieba's dictionaries is embedded beside it, because
// the recipe id is a hash over the text, and because gojieba and the classic Python recipes read it.
package dict

import (
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
)

//go:generate go run generate.go

//go:embed *.zst
var files embed.FS

// Read unpacks one of the dictionaries. Each call returns a new slice. It fails only if the program is damaged.
func Read(name string) ([]byte, error) {
	packed, err := files.ReadFile(name + ".zst")
	if err != nil {
		return nil, fmt.Errorf("dict: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
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
