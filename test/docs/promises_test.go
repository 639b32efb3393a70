package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A promise that names its test has one: a test of that name exists somewhere in the project.
func TestPromisesHaveTheirTests(t *testing.T) {
	tests, name := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			tests[found[1]] = true
		}
		return err
	}))
	named := 0
	for _, page := range []string{"../../SECURITY.md", "../../docs/security.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
			require.True(t, tests[found[1]], "%s names %s, which is no test", page, found[1])
			named++
		}
	}
	require.Greater(t, named, 10)
}
