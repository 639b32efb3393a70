package text

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/text/marks"
)

const (
	zhArticle, enArticle = newstext.Zh, newstext.En
)

// testSegmenter and testTerms load the dictionaries once for all tests.
func testSegmenter(t testing.TB) *Segmenter {
	t.Helper()
	s, err := LoadSegmenter(SegmenterNative, nil)
	require.NoError(t, err)
	return s
}

var testTerms = sync.OnceValue(func() *Terms {
	terms, err := LoadTerms(nil)
	if err != nil {
		panic(err)
	}
	return terms
})

// weigh returns the weighed words of a text.
func weigh(t *testing.T, text string) map[string]WeightedWord {
	t.Helper()
	counter := NewCounter(testTerms())
	clean, _ := marks.Plain(nil, Clean(text))
	counter.Add(testSegmenter(t).Cut(nil, clean, nil))
	counter.Weigh()
	words := map[string]WeightedWord{}
	for _, w := range counter.Weights() {
		words[w.Word] = w
	}
	return words
}
