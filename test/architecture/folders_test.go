package architecture_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPictureOfFolders fails when arrows between folders lead in a circle, at any depth: a reader who knows
// only the names of the folders must see what stands on what. So nothing in internal/base may import what
// stands on it, and only commands import internal/app.
func TestPictureOfFolders(t *testing.T) {
	for _, circle := range circles(readImports(t)) {
		t.Errorf("these folders import each other in a circle: %s", circle)
	}
}

func TestCirclesOfFolders(t *testing.T) {
	good := map[string][]string{
		"cmd/run": {"internal/app/web"}, "internal/app/web": {"store"},
		"store":       {"store/internal/keys", "internal/base/tls"},
		"store/tools": {"store", "store/internal/keys"}, "store/internal/keys": {"example.org/db"},
		"internal/base/tls": nil,
	}
	require.Empty(t, circles(good))
	for _, c := range []struct{ from, to, circle string }{
		{"internal/base/tls", "internal/app/color", "internal/app, internal/base, store"},
		{"store", "cmd/run/flags", "cmd, internal/app, store"},
		{"store/internal/keys", "store/tools/read", "store/., store/internal/keys, store/tools"},
		{"store", "store/tools", "store/., store/tools"},
	} {
		imports := maps.Clone(good)
		imports[c.from] = append(slices.Clone(imports[c.from]), c.to)
		require.Equal(t, []string{c.circle}, circles(imports))
	}
}

// circles returns, for each folder in which the imports lead back, the members of a circle. The folder
// internal is no room of its own: internal/app and internal/base stand beside each other and beside cmd.
func circles(imports map[string][]string) []string {
	arrows := map[string]picture{} // of what lies in a folder
	for from, paths := range imports {
		for _, to := range paths {
			if isLibrary(to) {
				continue
			}
			folder, a, b := parting(elements(from), elements(to))
			if arrows[folder] == nil {
				arrows[folder] = picture{}
			}
			arrows[folder][a] = append(arrows[folder][a], b)
		}
	}
	var found []string
	for _, folder := range slices.Sorted(maps.Keys(arrows)) {
		p := arrows[folder]
		for _, start := range slices.Sorted(maps.Keys(p)) {
			if reached := p.reach(start); reached[start] {
				maps.DeleteFunc(reached, func(other string, _ bool) bool { return !p.reach(other)[start] })
				found = append(found, strings.Join(slices.Sorted(maps.Keys(reached)), ", "))
				break
			}
		}
	}
	return found
}

// elements splits a folder's path. "internal" stays with the name after it.
func elements(path string) []string {
	return strings.Split(strings.ReplaceAll("/"+path, "/internal/", "/internal:"), "/")[1:]
}

// parting returns the innermost folder that holds both packages, and the two names in it by which they
// differ: "." is the folder's own package.
func parting(from, to []string) (folder, a, b string) {
	depth := 0
	for depth < len(from) && depth < len(to) && from[depth] == to[depth] {
		depth++
	}
	name := func(path []string) string {
		path = append(slices.Clone(path), ".")
		return strings.ReplaceAll(strings.Join(path[:depth+1], "/"), "internal:", "internal/")
	}
	return strings.Join(from[:depth], "/"), name(from), name(to)
}
