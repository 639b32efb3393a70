package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Root returns the repository's root: the nearest folder above the test's that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, filepath.Dir(dir), dir, "no go.mod above the test")
	}
}

// Read returns the text of a file, whose path starts from the root.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), path))
	require.NoError(t, err)
	return string(text)
}

// Between returns the part of a text from behind one part to before another.
func Between(t testing.TB, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	require.True(t, found, "there is no %q", from)
	part, _, _ := strings.Cut(rest, to)
	return part
}
