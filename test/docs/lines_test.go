package docs

import (
	"os/exec"
	"strings"
	"testing"

	"echosieve/test/repo"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/width"
)

// columns is the width of prose in Markdown; README has readmeColumns.
const (
	columns       = 120
	readmeColumns = 110
)

// Lines of prose fit the width. Tables, pictures and commands may be wider.
func TestLinesAreNotTooLong(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "*.md")
	cmd.Dir = repo.Root(t)
	files, err := cmd.Output()
	require.NoError(t, err)
	for _, page := range strings.Fields(string(files)) {
		most, fenced := columns, false
		if strings.HasPrefix(page, "README") {
			most = readmeColumns
		}
		for line := range strings.Lines(repo.Read(t, page)) {
			line = strings.TrimSuffix(line, "\n")
			fenced = fenced != strings.HasPrefix(line, "```")
			if !fenced && !strings.Contains(line, "|") && !strings.HasPrefix(line, "    ") {
				assert.LessOrEqual(t, columnsOf(line), most, "%s: wrap this line: %s", page, line)
			}
		}
	}
}

// columnsOf returns how wide a line is: Han characters take two columns.
func columnsOf(line string) (n int) {
	for _, r := range line {
		n++
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}
