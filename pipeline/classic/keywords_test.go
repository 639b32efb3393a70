//go:build cgo

package classic

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yanyiwu/gojieba"

	"echosieve/pipeline/dict"
)

// cppjieba is the C++ library with the embedded dictionaries, its own keyword extraction included; loaded once.
var cppjieba = sync.OnceValues(func() (*gojieba.Jieba, error) {
	dir, err := os.MkdirTemp("", "classic-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var paths []string
	for _, name := range []string{dict.Words, dict.HMM, "", dict.IDF, dict.StopWords} {
		data := []byte{}
		if name != "" {
			if data, err = dict.Read(name); err != nil {
				return nil, err
			}
		}
		path := filepath.Join(dir, "d"+name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return gojieba.NewJieba(paths...), nil
})

func testJieba(t testing.TB) *gojieba.Jieba {
	t.Helper()
	jieba, err := cppjieba()
	require.NoError(t, err)
	return jieba
}

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
