package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/dict"
)

// The embedded table is the one that the dictionaries make, byte for byte. Its zstd frame may differ between versions
// of the library.
func TestTableIsUpToDate(t *testing.T) {
	want, err := build()
	require.NoError(t, err)
	packed, err := os.ReadFile("../table.zst")
	require.NoError(t, err)
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
