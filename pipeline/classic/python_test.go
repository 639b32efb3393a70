package classic

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

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
