package classic

import (
	"bytes"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"sync"

	"echosieve/pipeline/dict"
	"echosieve/simhash"
)

// table maps words to numbers. It keeps their 64-bit hashes instead of the words: a quarter of the memory of a map
// of strings, and growing a word by a character grows its hash. That two of 500,000 words share a hash has a
// probability of about 1 in 100 million.
type table struct {
	keys   []uint64 // 0 = free; a power of two long, at most half full
	values []float64
}

func newTable(words int) *table {
	size := 1 << bits.Len(uint(2*words))
	return &table{keys: make([]uint64, size), values: make([]float64, size)}
}

// get returns the number of the word with this hash.
func (t *table) get(key uint64) (float64, bool) {
	i := t.find(key)
	return t.values[i], t.keys[i] != 0
}

func (t *table) set(key uint64, value float64) {
	i := t.find(key)
	t.keys[i], t.values[i] = max(key, 1), value
}

// find returns the place of the key, or the free one where it belongs.
func (t *table) find(key uint64) int {
	key = max(key, 1)
	mask := uint64(len(t.keys) - 1)
	for i := key >> 20 & mask; ; i = (i + 1) & mask {
		if t.keys[i] == key || t.keys[i] == 0 {
			return int(i)
		}
	}
}

// idfTable has the inverse document frequencies of jieba, the same in Python and C++ but for single characters, which
// no recipe counts.
type idfTable struct {
	*table
	mean, median float64
}

// of returns the IDF of a word, or else what the recipe has for unknown words.
func (t *idfTable) of(word string, unknown float64) float64 {
	if idf, ok := t.get(simhash.Hash(word)); ok {
		return idf
	}
	return unknown
}

// medianIDF is element 135,066 of Python's 270,132 sorted values (jieba 0.42.1). Its table has single characters that
// the embedded one lacks; the median is the same.
const medianIDF = 11.9547675029

var loadIDF = sync.OnceValues(func() (*idfTable, error) {
	data, err := dict.Read(dict.IDF)
	if err != nil {
		return nil, err
	}
	lines := bytes.Count(data, []byte("\n"))
	t := &idfTable{table: newTable(lines), median: medianIDF}
	for fields, line := range fieldsOf(data) {
		idf, err := strconv.ParseFloat(string(fields[len(fields)-1]), 64)
		if len(fields) != 2 || err != nil {
			return nil, fmt.Errorf("line %d of %s is damaged", line, dict.IDF)
		}
		t.set(simhash.Hash(string(fields[0])), idf)
		t.mean += idf
	}
	t.mean /= float64(lines)
	return t, nil
})

// fieldsOf iterates over the lines that hold something, as fields and line number.
func fieldsOf(data []byte) iter.Seq2[[][]byte, int] {
	return func(yield func([][]byte, int) bool) {
		number := 0
		for line := range bytes.Lines(data) {
			number++
			if fields := bytes.Fields(line); len(fields) > 0 && !yield(fields, number) {
				return
			}
		}
	}
}
