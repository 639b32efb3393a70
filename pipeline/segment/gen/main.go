// Command gen makes the table of the segmenter, not compressed, from gojieba's dictionaries, which package dict holds:
//
//	go generate ./pipeline/segment
//
// The same dictionaries make the same table on every machine.
package main

import (
	"log"
	"os"

	"echosieve/pipeline/dict"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	content, err := build()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], content, 0o644); err != nil {
		log.Fatal(err)
	}
}

// build returns the content of the table's file.
func build() ([]byte, error) {
	data, err := dict.Read(dict.Words)
	if err != nil {
		return nil, err
	}
	words, err := readWords(data)
	if err != nil {
		return nil, err
	}
	model, err := dict.ReadModel()
	if err != nil {
		return nil, err
	}
	t, err := newTable(words, model)
	if err != nil {
		return nil, err
	}
	return t.Marshal()
}
