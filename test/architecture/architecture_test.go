// Package architecture compares DESIGN.md with the code: its picture of the packages with what they import,
// and its file map with the files. It holds tests only.
package architecture_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/test/host"
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

// picture is the flowchart of DESIGN.md: the boxes, and for each box the boxes to which its arrows lead.
//
// The name of a box is a folder of this repository, or the path of a library: only that has a dot before its
// first slash. A folder's box stands for all packages below the folder, except those that have a box of their
// own.
type picture map[string][]string

// parsePicture reads the first flowchart of a document. Each line but the first is "box --> box & box".
func parsePicture(doc string) (picture, error) {
	_, rest, found := strings.Cut(doc, "```mermaid\nflowchart TD\n")
	chart, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		return nil, fmt.Errorf("there is no mermaid block that begins with flowchart TD")
	}
	p := picture{}
	for line := range strings.Lines(chart) {
		from, to, arrow := strings.Cut(strings.TrimSpace(line), " --> ")
		if !arrow {
			return nil, fmt.Errorf("line %q is not of the form box --> box & box", line)
		}
		for target := range strings.SplitSeq(to, " & ") {
			if slices.Contains(p[from], target) {
				return nil, fmt.Errorf("the arrow from %s to %s is drawn twice", from, target)
			}
			p[from] = append(p[from], target)
			if _, known := p[target]; !known {
				p[target] = nil
			}
		}
	}
	return p, nil
}

func isLibrary(box string) bool {
	host, _, _ := strings.Cut(box, "/")
	return strings.Contains(host, ".")
}

// boxOf returns the innermost box that a folder or a library's package lies in, or "".
func (p picture) boxOf(path string) string {
	innermost := ""
	for box := range p {
		if (path == box || strings.HasPrefix(path, box+"/")) && len(box) > len(innermost) {
			innermost = box
		}
	}
	return innermost
}

// reach returns the boxes to which the arrows lead from a box, over any number of boxes between.
func (p picture) reach(from string) map[string]bool {
	reached := map[string]bool{}
	for next := slices.Clone(p[from]); len(next) > 0; next = next[1:] {
		if !reached[next[0]] {
			reached[next[0]] = true
			next = append(next, p[next[0]]...)
		}
	}
	return reached
}

// faults compares the picture with what the packages of the repository import: paths of packages by the
// importing package, those of this repository as folders. It returns what the picture says and the code does
// not do, and the reverse.
func (p picture) faults(imports map[string][]string) []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	filled, used := map[string]bool{}, map[string]bool{}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		from := p.boxOf(folder)
		if from == "" {
			add("package %s is in no box", folder)
			continue
		}
		filled[from] = true
		reached := p.reach(from)
		for _, path := range imports[folder] {
			to := p.boxOf(path)
			_, reported := imports[path] // as a package without a box
			used[from+" "+to] = true
			switch {
			case to == from, to == "" && (reported || isLibrary(path)):
			case to == "":
				add("package %s imports %s, which is in no box", folder, path)
			case isLibrary(to) && !slices.Contains(p[from], to):
				add("package %s imports %s, but no arrow leads from %s to %s", folder, path, from, to)
			case !reached[to]:
				add("package %s imports %s, but the arrows do not lead from %s to %s", folder, path, from, to)
			}
		}
	}
	for _, from := range slices.Sorted(maps.Keys(p)) {
		if !isLibrary(from) && !filled[from] {
			add("box %s holds no package", from)
		}
		if p.reach(from)[from] {
			add("the arrows from %s lead back to it", from)
		}
		for _, to := range p[from] {
			if !used[from+" "+to] {
				add("an arrow leads from %s to %s, but no package there imports one here", from, to)
			}
		}
	}
	return faults
}
