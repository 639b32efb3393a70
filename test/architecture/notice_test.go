package architecture_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write NOTICE instead of comparing it")

// NOTICE has the license and the notice of each module that is in a program, of Go itself, and of the dictionaries.
// Releases, packages, wheels and the image carry it.
func TestNotice(t *testing.T) {
	notice := noticeOf(t)
	path := filepath.Join(root, "NOTICE")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(notice), 0o600))
		return
	}
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(was) != notice {
		t.Error("NOTICE is out of date: go test ./test/architecture -run Notice -update")
	}
	for file, line := range map[string]string{
		"deploy/Dockerfile": "COPY LICENSE NOTICE /", "deploy/release/build.sh": " LICENSE NOTICE ",
		"deploy/release/package/nfpm.yaml": "src: NOTICE, dst: /usr/share/doc/echosieve/NOTICE",
		"deploy/python/pyproject.toml":     `license-files = ["LICENSE", "NOTICE"]`,
	} {
		require.Contains(t, host.Read(t, file), line, file)
	}
}

// noticeOf is the text: each license once, below the names of those that have it.
func noticeOf(t *testing.T) string {
	t.Helper()
	owners := map[string][]string{}
	add := func(owner, folder string, named *regexp.Regexp) {
		found := false
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, e := range entries {
			if named.MatchString(e.Name()) && !e.IsDir() {
				text, err := os.ReadFile(filepath.Join(folder, e.Name()))
				require.NoError(t, err)
				key := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
				owners[key], found = append(owners[key], owner), true
			}
		}
		require.True(t, found, "%s has no license in %s", owner, folder)
	}
	legal := regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|copyright)`)
	modules := map[string]string{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/...")
		list.Dir, list.Env = root, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		require.NoError(t, err)
		for line := range strings.Lines(string(out)) {
			if module, folder, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
				modules[module] = folder
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		add(module, modules[module], legal)
	}
	goRoot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	add("Go", strings.TrimSpace(string(goRoot)), regexp.MustCompile(`^LICENSE$`))
	for _, dictionary := range []string{"cppjieba", "OpenCC", "stopwords-iso"} {
		add("the dictionary of "+dictionary, filepath.Join(root, "pipeline/dict"),
			regexp.MustCompile("^LICENSE-"+dictionary+"$"))
	}
	var b strings.Builder
	fmt.Fprintln(&b, "Echosieve is licensed as LICENSE says. Its programs hold the following software of others.")
	texts := slices.SortedFunc(maps.Keys(owners), func(x, y string) int {
		return cmp.Or(slices.Compare(owners[x], owners[y]), strings.Compare(x, y))
	})
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), text)
	}
	return b.String()
}
