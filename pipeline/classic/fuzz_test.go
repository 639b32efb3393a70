//go:build cgo

package classic

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzFingerprint checks that no text breaks a recipe, that Python's segmentation loses and invents nothing, and that
// the keywords are those of cppjieba.
func FuzzFingerprint(f *testing.F) {
	for _, v := range pythonVectors(f) {
		f.Add(v.Text)
	}
	for _, text := range []string{lanxiang, "\xff\xfe北京\x00\xe5", "1.2.3%4..5%%", "\U0010ffff\ufffd", "T恤T恤衫T",
		"9.%9.9%."} {
		f.Add(text)
	}
	segmenter, err := loadPythonSegmenter()
	require.NoError(f, err)
	jieba := testJieba(f)
	limits := map[string]int{"classic-python-200": 200, "classic-python-30": 30, "classic-yanyiwu": 200,
		"classic-fnv": 1 << 20}
	extractors := map[string]*Extractor{}
	for name := range limits {
		extractors[name] = testExtractor(f, name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			t.Skip("the caller bounds texts")
		}
		for name, e := range extractors {
			if _, features := e.Fingerprint(text); features > limits[name] {
				t.Errorf("%s: %d features", name, features)
			}
		}
		blocks := strings.Map(func(r rune) rune {
			if inBlock(r) {
				return r
			}
			return -1
		}, text)
		require.Equal(t, blocks, strings.Join(segmenter.cut(nil, text), ""))
		if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
			requireKeywords(t, jieba, extractors["classic-yanyiwu"], text)
		}
	})
}
