package classic

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

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

type pythonVector struct {
	Name, Text, Words, Top200, Top30 string
	Features                         int
}

// pythonVectors are results of jieba 0.42.1 and simhash 2.1.2; see testdata/python_reference.py.
func pythonVectors(t testing.TB) (vectors []pythonVector) {
	t.Helper()
	data, err := os.ReadFile("testdata/python_vectors.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.Greater(t, len(vectors), 10)
	return vectors
}

func TestPythonVectors(t *testing.T) {
	top200, top30 := testExtractor(t, "classic-python-200"), testExtractor(t, "classic-python-30")
	segmenter, err := loadPythonSegmenter()
	require.NoError(t, err)
	for _, v := range pythonVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			var words []string
			for _, w := range segmenter.cut(nil, v.Text) {
				if utf8.RuneCountInString(w) > 1 {
					words = append(words, w)
				}
			}
			require.Equal(t, v.Words, strings.Join(words, "/"))
			fp, features := top200.Fingerprint(v.Text)
			require.Equal(t, v.Top200, fp.String())
			require.Equal(t, v.Features, features)
			fp, features = top30.Fingerprint(v.Text)
			require.Equal(t, v.Top30, fp.String())
			require.Equal(t, min(v.Features, 30), features)
		})
	}
}

// The example of yanyiwu/simhash, README and example/demo.cpp.
const lanxiang = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。" +
	"不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"

func TestPublishedYanyiwu(t *testing.T) {
	e := testExtractor(t, "classic-yanyiwu")
	fp, features := e.Fingerprint(lanxiang)
	require.Equal(t, uint64(17831459094038722629), uint64(fp))
	require.Equal(t, 5, features)

	var words []string
	for _, w := range e.Weights(lanxiang) {
		words = append(words, w.Text)
	}
	require.Equal(t, []string{"蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"}, words)
	require.InDelta(t, 11.7392, e.Weights(lanxiang)[0].Weight, 1e-4)
	require.InDelta(t, 10.0089, e.Weights(lanxiang)[4].Weight, 1e-4)
}

// Values that the authors of the hashes give: lookup3.c, and RFC 9923 for FNV.
func TestPublishedHashes(t *testing.T) {
	require.Equal(t, uint64(0x17770551ce7226e6), jenkins("Four score and seven years ago"))
	require.Equal(t, uint64(0xdeadbeefdeadbeef), jenkins(""))
	require.Equal(t, uint64(0xcbf29ce484222325), fnv1a(""))
	require.Equal(t, uint64(0xaf63dc4c8601ec8c), fnv1a("a"))
	require.Equal(t, uint64(0x85944171f73967e8), fnv1a("foobar"))
	require.Equal(t, uint64(0xd6963f7d28e17f72), md5Low("abc")) // RFC 1321: 900150983cd24fb0d6963f7d28e17f72
}
