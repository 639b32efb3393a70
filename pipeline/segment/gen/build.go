package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"echosieve/pipeline/dict"
	"echosieve/pipeline/segment/internal/table"
)

// separators end a range of text. Ranges are cut separately, so a word that holds a separator is never found.
const separators = " \t\n，。"

// newTable makes the table of a dictionary and a model.
func newTable(words []word, m *dict.Model) (*table.Table, error) {
	weights, sum := weigh(words)
	sorted := slices.Sorted(slices.Values(weights))
	least := sorted[0]
	t := &table.Table{Runes: codes(words, m.Emit), Weights: []float64{math.Inf(-1)},
		Model: table.Model{Start: m.Start, Trans: m.Trans}, Sum: sum,
		Default: sorted[len(sorted)/2]}
	t.Root = make([]uint32, len(t.Runes))
	t.Single = slices.Repeat([]float64{least}, len(t.Runes)) // of characters that are no words
	t.Model.Emit = make([][4]float64, len(m.Emit))
	for i := range t.Model.Emit {
		t.Model.Emit[i] = m.Emit[t.Runes[table.First+i]]
	}
	b := table.NewBuilder(t)
	var longer []coded
	for i, w := range words {
		if strings.ContainsAny(string(w.runes), separators) {
			continue
		}
		codes, err := b.Codes(w.runes)
		if err != nil {
			return nil, err
		}
		number, err := b.Number(weights[i])
		if err != nil {
			return nil, err
		}
		if len(codes) == 1 {
			t.Single[codes[0]] = weights[i]
		} else {
			longer = append(longer, coded{codes, number})
		}
	}
	enter(t, b, longer)
	b.Finish()
	return t, nil
}

// weigh returns the logarithms of the words' shares in all words, and the sum of the frequencies.
func weigh(words []word) (weights []float64, sum float64) {
	for _, w := range words {
		sum += w.frequency
	}
	logs := map[float64]float64{}
	weights = make([]float64, len(words))
	for i, w := range words {
		value, known := logs[w.frequency]
		if !known {
			value = table.Log(w.frequency / sum)
			logs[w.frequency] = value
		}
		weights[i] = value
	}
	return weights, sum
}

// codes returns the characters by code: the characters of the model first, each part in the order of
// frequency, so that characters that are looked up together are near each other in memory.
func codes(words []word, emit map[rune][4]float64) []rune {
	frequency := map[rune]float64{}
	for r := range emit {
		frequency[r] = 0
	}
	for _, w := range words {
		for _, r := range w.runes {
			if r >= 0x80 && !strings.ContainsRune(separators, r) {
				frequency[r] += w.frequency
			}
		}
	}
	runes := make([]rune, table.First, table.First+len(frequency))
	for r := range rune(0x80) {
		runes[r] = r
	}
	runes[table.Comma], runes[table.Stop] = '，', '。'
	for r := range frequency {
		runes = append(runes, r)
	}
	inModel := func(r rune) int {
		if _, found := emit[r]; found {
			return 0
		}
		return 1
	}
	slices.SortFunc(runes[table.First:], func(a, b rune) int {
		return cmp.Or(cmp.Compare(inModel(a), inModel(b)), cmp.Compare(frequency[b], frequency[a]), cmp.Compare(a, b))
	})
	return runes
}
