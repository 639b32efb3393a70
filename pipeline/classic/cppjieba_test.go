package classic

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeywordLimit(t *testing.T) {
	for length, want := range map[int]int{0: 5, 719: 5, 720: 6, 2400: 20, 24000: 200, 1 << 20: 200} {
		require.Equal(t, want, keywordLimit(length), length)
	}
}

func TestFNVCountsAllWords(t *testing.T) {
	e := testExtractor(t, "classic-fnv")
	words := map[string]Word{}
	for _, w := range e.Weights("我们的城市，天气，天气的qwertyuiop，天气 the") {
		words[w.Text] = w
	}
	require.Len(t, words, 3)
	require.Equal(t, 3, words["天气"].Count)
	require.InDelta(t, 3*words["天气"].IDF, words["天气"].Weight, 1e-9)
	require.InDelta(t, 11.7392, words["qwertyuiop"].IDF, 1e-4, "unknown words have the mean IDF")
	require.NotContains(t, words, "的")
	require.NotContains(t, words, "the")
	require.NotContains(t, words, "我们")
	require.Equal(t, fnv1a("天气"), words["天气"].Hash)
}
