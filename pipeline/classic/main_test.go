package classic

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/segment"
)

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
