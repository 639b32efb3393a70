//go:build cgo

package gojieba

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yanyiwu/gojieba"

	"echosieve/pipeline/segment"
)

// gojieba's own paths point into the module cache of the machine that built the program.
func TestOnlyEmbeddedDictionariesAreUsed(t *testing.T) {
	for _, path := range []*string{
		&gojieba.DICT_PATH, &gojieba.HMM_PATH, &gojieba.USER_DICT_PATH,
		&gojieba.IDF_PATH, &gojieba.STOP_WORDS_PATH,
	} {
		before := *path
		*path = "/nonexistent"
		defer func() { *path = before }()
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s, err := New([]segment.Word{{Text: "某词"}})
	require.NoError(t, err)
	defer s.jieba.Free()
	require.Equal(t, []string{"北京", "清华大学"}, s.Cut(nil, "北京清华大学"))
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "the unpacked dictionaries stay behind")
}

func TestTemporaryFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	_, err := New(nil)
	require.ErrorContains(t, err, "TMPDIR")
	require.ErrorIs(t, err, os.ErrNotExist)

	odd := filepath.Join(t.TempDir(), "a|b")
	require.NoError(t, os.Mkdir(odd, 0o700))
	t.Setenv("TMPDIR", odd)
	_, err = New(nil)
	require.ErrorContains(t, err, "'|'")
	left, err := os.ReadDir(odd)
	require.NoError(t, err)
	require.Empty(t, left, "the temporary folder stays behind")
}
