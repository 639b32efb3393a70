package host

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Root returns the repository's root: the nearest folder above the test's that holds the Makefile.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "Makefile")); err == nil {
			return dir
		}
		require.NotEqual(t, filepath.Dir(dir), dir, "no Makefile above the test")
	}
}

// Read returns the text of a file, whose path starts from the root.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), path))
	require.NoError(t, err)
	return string(text)
}

// Files returns the paths of the files that match a pattern, such as docs/*.md. Paths start from the root.
func Files(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := fs.Glob(os.DirFS(Root(t)), pattern)
	require.NoError(t, err)
	return found
}

// Between returns the part of a text from behind one part to before another.
func Between(t testing.TB, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	require.True(t, found, "there is no %q", from)
	part, _, _ := strings.Cut(rest, to)
	return part
}

// Constants returns the texts of a source file's constants whose names begin with a prefix, each with its place,
// FILE:LINE and name. The file's path starts from the root.
func Constants(t testing.TB, path, prefix string) map[string]string {
	t.Helper()
	files, found := token.NewFileSet(), map[string]string{}
	file, err := parser.ParseFile(files, path, Read(t, path), 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, is := spec.Values[0].(*ast.BasicLit); is && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			at := files.Position(spec.Pos())
			found[text] = at.Filename + ":" + strconv.Itoa(at.Line) + ": " + spec.Names[0].Name
		}
		return true
	})
	require.NotEmpty(t, found, "%s has no constant %s...", path, prefix)
	return found
}
