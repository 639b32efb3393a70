// Package architecture compares DESIGN.md with the code: its picture of the packages with what they import,
// and its file map with the files. It holds tests only.
package architecture_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestPicture fails when a package or an import is missing in the picture of DESIGN.md, and when the picture
// shows one that is not there.
func TestPicture(t *testing.T) {
	p, err := parsePicture(host.Read(t, "DESIGN.md"))
	require.NoError(t, err)
	for _, fault := range p.faults(readImports(t)) {
		t.Error(fault)
	}
	if t.Failed() {
		t.Log("Change the imports, or the picture in DESIGN.md.")
	}
}

// TestFileMap fails when a box of the picture is missing in the file map of DESIGN.md, and when the map names
// a folder or file that is not there.
func TestFileMap(t *testing.T) {
	doc := host.Read(t, "DESIGN.md")
	p, err := parsePicture(doc)
	require.NoError(t, err)
	fileMap := host.Between(t, doc, "\n## File map\n", "\n## ")
	var folders []string
	names := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(fileMap) {
		cells := strings.Split(line, "|")
		rooms := names.FindAllStringSubmatch(cells[0], -1)
		if len(cells) != 3 || len(rooms) == 0 {
			continue
		}
		files := names.FindAllStringSubmatch(cells[2], -1)
		assert.Contains(t, []int{0, len(rooms)}, len(files), line)
		for i, room := range rooms {
			folders = append(folders, room[1])
			file := filepath.Base(room[1]) + ".go"
			if len(files) > 0 {
				file = files[i][1]
			}
			assert.FileExists(t, filepath.Join(root, room[1], file))
		}
	}
	for box := range p {
		if !isLibrary(box) {
			assert.Contains(t, folders, box, "the file map")
		}
	}
}

// readImports returns, for each package outside test, what it imports on any platform and under any build
// tag: other packages of this module as folders, and libraries, but nothing of the standard library. Test
// files and programs that only go generate runs do not count.
func readImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "test" || name == "testdata" || strings.HasPrefix(name, ".") && path != "."):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || strings.Contains(string(source), "//go:build ignore\n") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		paths := imports[folder]
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			ours, found := strings.CutPrefix(imported, "echosieve/")
			if found || isLibrary(imported) {
				paths = append(paths, ours)
			}
		}
		slices.Sort(paths)
		imports[folder] = slices.Compact(paths)
		return nil
	}))
	return imports
}
