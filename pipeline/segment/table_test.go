package segment

import (
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/dict"
)

// small returns a table of a few words and a model.
func small(t testing.TB) *table {
	t.Helper()
	table := &table{weights: []float64{math.Inf(-1), -9}, sum: 100, median: -9}
	table.model.start = [4]float64{-.5, dict.MinLog, dict.MinLog, -.7}
	table.model.emit = [][4]float64{{-1, -2, -3, -4}}
	for r := range rune(unknownCode) {
		table.runes = append(table.runes, r)
	}
	table.runes = append(table.runes, 0, '，', '。', '北', '京')
	table.root = make([]uint32, len(table.runes))
	table.single = slices.Repeat([]float64{-20}, len(table.runes))
	b := newBuilder(table)
	require.NoError(t, b.add("北京", -9))
	require.NoError(t, b.add("c++", -9))
	b.finish()
	return table
}

// weight follows a word through the double array, as the segmenter does. It returns 0 if the text is no word.
func (t *table) weight(b *builder, word string) float64 {
	codes, _ := b.codesOf([]rune(word))
	base, number := t.root[codes[0]], uint16(0)
	if len(codes) == 1 {
		return t.single[codes[0]]
	}
	for _, code := range codes[1:] {
		e := t.entries[base+uint32(code)]
		if e.code != code {
			return 0
		}
		base, number = e.base, e.weight
	}
	if number == 0 {
		return 0
	}
	return t.weights[number]
}

// pack compresses the content of a file.
func pack(t testing.TB, content []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return enc.EncodeAll(content, nil)
}

func TestFile(t *testing.T) {
	want := small(t)
	good, err := want.marshal()
	require.NoError(t, err)
	got, err := readTable(pack(t, good))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = readTable(pack(t, good[:len(good)-5]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// Words that are added one by one, in any order, are found with their last weight, and no others are.
func TestAdd(t *testing.T) {
	table := small(t)
	b := newBuilder(table)
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string]float64{"北京": -9, "c++": -9}
	for i := range 20_000 {
		word := make([]rune, 1+random.IntN(5))
		for k := range word {
			word[k] = '一' + rune(random.ExpFloat64()*40)
		}
		weight := -1 - float64(i%100)
		want[string(word)] = weight
		require.NoError(t, b.add(string(word), weight))
	}
	b.finish()
	for word, weight := range want {
		require.Equal(t, weight, table.weight(b, word), word)
	}
	for range 20_000 {
		word := []rune{'一' + rune(random.IntN(200)), '一' + rune(random.IntN(200)), '一' + rune(random.IntN(200))}
		require.Equal(t, want[string(word)], table.weight(b, string(word)), string(word))
	}
}

// Log is correctly rounded, where math.Log is not: the values are from 60 digits of Python's decimal module.
func TestLog(t *testing.T) {
	for x, want := range map[float64]float64{
		1: 0, 3: 1.0986122886681098, 0.1: -2.3025850929940455, 7e-7: -14.172185501903007, 5e-8: -16.811242831518264,
		2147483647:      21.487562596892644,
		65.0 / 60101378: -13.737156057799526, 166.0 / 60101378: -12.799555539338618,
		175.0 / 60101378: -12.746757353771647,
	} {
		require.Equal(t, want, logarithm(x), x)
	}
	require.NotEqual(t, math.Log(65.0/60101378), logarithm(65.0/60101378))
}
