package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/dict"
)

// The table is made from jieba's dictionaries, which package dict holds. The same dictionaries make the same table on
// every machine.

var update = flag.Bool("update", false, "write the table, not compressed")

// The embedded table is the one that the dictionaries make, byte for byte. Its zstd frame may differ between versions
// of the library.
func TestTableIsUpToDate(t *testing.T) {
	want, err := build()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("table", want, 0o644))
		return
	}
	dec, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer dec.Close()
	got, err := dec.DecodeAll(packed, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "run: go generate ./pipeline/segment")
}

// The segmenter's search leaves out the starts and transitions that the model has not.
func TestModelHasNoOtherTransitions(t *testing.T) {
	m, err := dict.ReadModel()
	require.NoError(t, err)
	require.Equal(t, []float64{dict.MinLog, dict.MinLog}, m.Start[1:3])
	for _, f := range [][2]int{{0, 0}, {0, 3}, {1, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 1}, {3, 2}} {
		require.Equal(t, dict.MinLog, m.Trans[f[0]][f[1]], f)
	}
}

func TestDamagedDictionaries(t *testing.T) {
	for content, want := range map[string]string{
		"词 1\n":            "line 1: 2 fields",
		"词 1 n\n字 x n\n":   `line 2: frequency "x"`,
		"词 0 n\n":          `line 1: frequency "0"`,
		"词 1 n\n\n词 1 n\n": "line 2: 1 fields",
	} {
		_, err := readWords([]byte(content))
		require.ErrorContains(t, err, want)
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
	return t.marshal()
}

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

// newTable makes the table of a dictionary and a model.
func newTable(words []word, m *dict.Model) (*table, error) {
	weights, sum := weigh(words)
	sorted := slices.Sorted(slices.Values(weights))
	least := sorted[0]
	t := &table{runes: codes(words, m.Emit), weights: []float64{math.Inf(-1)},
		model: model{start: m.Start, trans: m.Trans}, sum: sum,
		median: sorted[len(sorted)/2]}
	t.root = make([]uint32, len(t.runes))
	t.single = slices.Repeat([]float64{least}, len(t.runes)) // of characters that are no words
	t.model.emit = make([][4]float64, len(m.Emit))
	for i := range t.model.emit {
		t.model.emit[i] = m.Emit[t.runes[firstCode+i]]
	}
	b := newBuilder(t)
	var longer []coded
	for i, w := range words {
		if strings.ContainsAny(string(w.runes), separators) {
			continue
		}
		codes, err := b.codesOf(w.runes)
		if err != nil {
			return nil, err
		}
		number, err := b.numberOf(weights[i])
		if err != nil {
			return nil, err
		}
		if len(codes) == 1 {
			t.single[codes[0]] = weights[i]
		} else {
			longer = append(longer, coded{codes, number})
		}
	}
	enter(t, b, longer)
	b.finish()
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
			value = logarithm(w.frequency / sum)
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
	runes := make([]rune, firstCode, firstCode+len(frequency))
	for r := range rune(0x80) {
		runes[r] = r
	}
	runes[commaCode], runes[stopCode] = '，', '。'
	for r := range frequency {
		runes = append(runes, r)
	}
	inModel := func(r rune) int {
		if _, found := emit[r]; found {
			return 0
		}
		return 1
	}
	slices.SortFunc(runes[firstCode:], func(a, b rune) int {
		return cmp.Or(cmp.Compare(inModel(a), inModel(b)), cmp.Compare(frequency[b], frequency[a]), cmp.Compare(a, b))
	})
	return runes
}

// coded is a word of at least two characters.
type coded struct {
	codes  []uint16
	number uint16 // of the weight
}

// node is a prefix that several words have in common.
type node struct {
	words    []coded  // those with the prefix, sorted
	depth    int      // characters of the prefix
	at       int      // its entry, or atRoot
	children []uint16 // the codes that follow it
}

// enter enters all words of a dictionary into an empty table. Of words that are there twice the last one
// counts. It yields a smaller table than builder.add for each word: all children of a node are placed at
// once, shorter prefixes first, and of one length those with the most children first.
func enter(t *table, b *builder, words []coded) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(x, y coded) int { return slices.Compare(x.codes, y.codes) })
	level := split(node{words: words}, atRoot)
	for len(level) > 0 {
		slices.SortStableFunc(level, func(x, y node) int {
			return cmp.Compare(min(len(y.children), maxClass), min(len(x.children), maxClass))
		})
		var next []node
		for _, n := range level {
			if len(n.children) == 0 {
				continue
			}
			base := b.place(n.children)
			*b.base(n.at, n.words[0].codes[0]) = uint32(base)
			next = append(next, split(n, base)...)
		}
		for _, n := range next {
			for _, w := range n.words {
				if len(w.codes) == n.depth {
					t.entries[n.at].weight = w.number
				}
			}
		}
		level = next
	}
}

// split returns the nodes below a node, whose children have a base; at the root, base is atRoot.
func split(parent node, base int) []node {
	var nodes []node
	for _, w := range parent.words {
		if len(w.codes) == parent.depth {
			continue // the prefix itself is a word
		}
		code := w.codes[parent.depth]
		last := len(nodes) - 1
		if last < 0 || nodes[last].words[0].codes[parent.depth] != code {
			at := atRoot
			if base != atRoot {
				at = base + int(code)
			}
			nodes = append(nodes, node{depth: parent.depth + 1, at: at})
			last++
		}
		n := &nodes[last]
		n.words = append(n.words, w)
		if len(w.codes) > n.depth && (len(n.children) == 0 || n.children[len(n.children)-1] != w.codes[n.depth]) {
			n.children = append(n.children, w.codes[n.depth])
		}
	}
	return nodes
}

// marshal returns the content of the file, not compressed.
func (t *table) marshal() ([]byte, error) {
	f := newTrie(t)
	h := header{
		Codes: uint32(len(t.runes)), Known: uint32(len(t.model.emit)), Weights: uint32(len(t.weights)),
		Entries: uint32(len(t.entries)), Nodes: uint32(len(f.gaps)), Parents: uint32(len(f.steps)), Sum: t.sum,
		Median: t.median,
	}
	var b bytes.Buffer
	for _, part := range append(append([]any{h}, t.parts()...), f.bytes()) {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	return b.Bytes(), nil
}

// trie has the columns that a table's file has of the trie, see table.enter.
type trie struct{ children, gaps, weights, steps []uint32 }

// newTrie returns the trie of a table.
func newTrie(t *table) *trie {
	codes := map[uint32][]uint16{} // of children, by base, in order
	for at, e := range t.entries {
		if e.code != noEntry {
			base := uint32(at) - uint32(e.code)
			codes[base] = append(codes[base], e.code)
		}
	}
	f := &trie{}
	add := func(l *level, base *uint32) {
		n := len(codes[*base])
		f.children = append(f.children, uint32(n))
		l.add(base, n)
	}
	var roots level
	for code := range t.root {
		add(&roots, &t.root[code])
	}
	first := uint32(0)
	for parents := roots.inOrder(); len(parents) > 0; {
		var next level
		for _, p := range parents {
			before := uint16(0)
			for _, code := range codes[*p.base] {
				e := &t.entries[*p.base+uint32(code)]
				f.gaps, f.weights = append(f.gaps, uint32(code-before)), append(f.weights, uint32(e.weight))
				add(&next, &e.base)
				before = code
			}
			at := *p.base + uint32(codes[*p.base][0])
			f.steps, first = append(f.steps, at-first), at
		}
		parents = next.inOrder()
	}
	return f
}

// bytes returns the trie as it stands in the file: of each column the lowest bytes of all values, then all second
// bytes, and so on. These compress better than whole values.
func (f *trie) bytes() (all []byte) {
	for _, column := range [][]uint32{f.children, f.gaps, f.weights, f.steps} {
		for shift := 0; shift < 32; shift += 8 {
			for _, value := range column {
				all = append(all, byte(value>>shift))
			}
		}
	}
	return all
}
