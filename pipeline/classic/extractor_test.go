package classic

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/segment"
	"echosieve/simhash"
)

func TestNames(t *testing.T) {
	require.Equal(t, []string{"classic-fnv", "classic-python-200", "classic-python-30", "classic-yanyiwu"}, Names())
	_, err := New("classic-md5", nil)
	require.EqualError(t, err,
		`classic: unknown recipe "classic-md5", known: classic-fnv, classic-python-200, classic-python-30, classic-yanyiwu`)
	for _, name := range []string{"classic-python-200", "classic-python-30"} {
		e, err := New(name, nil)
		require.NoError(t, err)
		_, features := e.Fingerprint("北京的天气")
		require.Equal(t, 2, features, "the Python recipes cut by themselves")
	}
}

// Text after a NUL counts, although a C string ends there.
func TestNULIsNoEnd(t *testing.T) {
	for _, name := range Names() {
		e := testExtractor(t, name)
		a, _ := e.Fingerprint("北京天气\x00上海经济")
		b, _ := e.Fingerprint("北京天气\n上海经济")
		require.Equal(t, b, a, name)
	}
}

func TestWeightsMakeTheFingerprint(t *testing.T) {
	for _, name := range Names() {
		e := testExtractor(t, name)
		words := e.Weights(lanxiang)
		fp, features := e.Fingerprint(lanxiang)
		require.Equal(t, Sum(words), fp)
		require.Len(t, words, features)
		var exact []simhash.Feature
		for i, w := range words {
			require.Positive(t, w.Count)
			require.Positive(t, w.IDF)
			require.Equal(t, e.hash(w.Text), w.Hash)
			exact = append(exact, simhash.Feature{Hash: w.Hash, Weight: w.Weight})
			if i > 0 && name != "classic-fnv" {
				require.LessOrEqual(t, w.Weight, words[i-1].Weight)
			}
		}
		require.LessOrEqual(t, simhash.Distance(simhash.Sum(exact), fp), 1, "except where a sum is nearly 0")
	}
}

var loadSegmenter = sync.OnceValues(func() (*segment.Segmenter, error) { return segment.New(nil) })

// testExtractor returns an extractor over the words of package segment, which are cppjieba's.
func testExtractor(t testing.TB, name string) *Extractor {
	t.Helper()
	segmenter, err := loadSegmenter()
	require.NoError(t, err)
	e, err := New(name, func(dst []string, text string) []string {
		if strings.Contains(text, "\x00") {
			panic("a C string would end here")
		}
		return segmenter.Cut(dst, text)
	})
	require.NoError(t, err)
	return e
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
