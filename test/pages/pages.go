// Package pages takes programs out of the pages in docs/, so that a test runs the text that a reader copies.
package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var python = regexp.MustCompile("(?s)\n```python\n(.*?)```\n")

// Python returns the first Python program of a page. oldnew are pairs: a text that the program must have,
// such as an address, and its replacement in the test.
func Python(t testing.TB, page string, oldnew ...string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	printed := python.FindSubmatch(text)
	require.NotNil(t, printed, "%s prints no Python program", page)
	program := string(printed[1])
	for i := 0; i < len(oldnew); i += 2 {
		require.Contains(t, program, oldnew[i])
	}
	return strings.NewReplacer(oldnew...).Replace(program)
}
