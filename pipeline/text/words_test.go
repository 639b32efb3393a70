package text

import (
	"testing"

	"echosieve/pipeline/limits"

	"github.com/stretchr/testify/require"
)

func TestWeights(t *testing.T) {
	table := weigh(t, "新华社新华社新华社新华社 Qwertyuiop 强哥说 the of 1234567 记者")
	require.Equal(t, 4, table["新华社"].Count)
	require.InDelta(t, 4*table["新华社"].IDF, table["新华社"].Weight, 1e-9)
	require.InDelta(t, 11.7392, table["强哥"].IDF, 1e-4, "unknown words have the average IDF")
	require.InDelta(t, limits.RareIDF, table["qwertyuiop"].IDF, 1e-4)
	require.InDelta(t, limits.WeakIDF, table["1234567"].IDF, 1e-4)
	require.NotContains(t, table, "the")
}
