package main

import (
	"fmt"
	"strconv"
	"strings"
)

// word is an entry of the dictionary.
type word struct {
	runes     []rune
	frequency float64
}

// readWords reads the lines "word frequency tag" of the dictionary.
func readWords(data []byte) ([]word, error) {
	var words []word
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) != 3 {
			return nil, fmt.Errorf("dictionary, line %d: %d fields", len(words)+1, len(fields))
		}
		frequency, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || frequency <= 0 {
			return nil, fmt.Errorf("dictionary, line %d: frequency %q", len(words)+1, fields[1])
		}
		words = append(words, word{[]rune(fields[0]), frequency})
	}
	return words, nil
}
