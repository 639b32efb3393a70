package classic

import (
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

// testExtractor returns an extractor over cppjieba's own segmentation.
func testExtractor(t testing.TB, name string) *Extractor {
	t.Helper()
	jieba := testJieba(t)
	e, err := New(name, func(dst []string, text string) []string {
		if strings.Contains(text, "\x00") {
			panic("a C string would end here")
		}
		return append(dst, jieba.Cut(text, true)...)
	})
	require.NoError(t, err)
	return e
}
