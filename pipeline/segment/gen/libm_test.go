//go:build cgo && linux

package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/dict"
	"echosieve/pipeline/segment/internal/libm"
)

// cppjieba takes the logarithm of the C library. Its last bit is not the same in every library, so the weights in the
// table are correctly rounded; glibc has the same ones.
func TestWeightsAreThoseOfGlibc(t *testing.T) {
	data, err := dict.Read(dict.Words)
	require.NoError(t, err)
	words, err := readWords(data)
	require.NoError(t, err)
	weights, sum := weigh(words)
	differs := map[float64]bool{} // frequencies whose math.Log is not correctly rounded
	for i, w := range words {
		require.Equal(t, libm.Log(w.frequency/sum), weights[i], "the logarithm of %v / %v", w.frequency, sum)
		if math.Log(w.frequency/sum) != weights[i] {
			differs[w.frequency] = true
		}
	}
	require.Len(t, differs, 51)
}
