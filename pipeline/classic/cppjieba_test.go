package classic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yanyiwu/gojieba"
)

// requireKeywords compares the keywords with those of cppjieba itself.
func requireKeywords(t testing.TB, jieba *gojieba.Jieba, e *Extractor, text string) {
	t.Helper()
	want := jieba.ExtractWithWeight(text, keywordLimit(len(text)))
	got := e.Weights(text)
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Equal(t, w.Word, got[i].Text, "keyword %d of %q", i, text)
		require.Equal(t, w.Weight, got[i].Weight, "bit for bit: weight of %s", w.Word)
	}
}

func TestKeywordsAreThoseOfCppjieba(t *testing.T) {
	jieba, e := testJieba(t), testExtractor(t, "classic-yanyiwu")
	requireKeywords(t, jieba, e, lanxiang)
	for _, v := range pythonVectors(t) {
		if !strings.Contains(v.Text, "\x00") {
			requireKeywords(t, jieba, e, v.Text)
		}
	}
}

// Equal weights at the limit: which words are kept, and in which order, is the choice of the C++ library.
func TestEqualWeightsAreChosenAsByCppjieba(t *testing.T) {
	jieba, e := testJieba(t), testExtractor(t, "classic-yanyiwu")
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		var text strings.Builder
		for range 1 + random.IntN(400) {
			fmt.Fprintf(&text, "z%dq ", random.IntN(300))
		}
		requireKeywords(t, jieba, e, text.String())
	}
}

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
