//go:build cgo

package segment_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/segment"
	"echosieve/pipeline/segment/cppjieba"
)

// both are the native segmenter and its reference, over the same user dictionary.
type both struct {
	native  *segment.Segmenter
	jieba   *cppjieba.Segmenter
	scratch []string
}

func load(words []segment.Word) (*both, error) {
	native, err := segment.New(words)
	if err != nil {
		return nil, err
	}
	jieba, err := cppjieba.New(words)
	return &both{native: native, jieba: jieba}, err
}

var loadPlain = sync.OnceValues(func() (*both, error) { return load(nil) })

func plainPair(t testing.TB) *both {
	t.Helper()
	b, err := loadPlain()
	require.NoError(t, err)
	return b
}

// requireSame fails unless both yield the same words.
func (b *both) requireSame(t testing.TB, text string) {
	t.Helper()
	b.scratch = b.native.Cut(b.scratch[:0], text)
	want := b.jieba.Cut(nil, text)
	if slices.Equal(want, b.scratch) {
		return
	}
	at := 0
	for at < len(want) && at < len(b.scratch) && want[at] == b.scratch[at] {
		at++
	}
	part := func(words []string) []string { return words[max(0, min(at-2, len(words))):min(at+6, len(words))] }
	t.Fatalf("%q: %q, gojieba has %q", text[:min(len(text), 200)], part(b.scratch), part(want))
}
