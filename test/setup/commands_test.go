package setup

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// README, near its top, names the two commands of a fresh machine with their durations. The Makefile and
// CONTRIBUTING give the tests the same duration, and the gate runs the same tests.
func TestTheTwoCommands(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		return string(text)
	}
	top, _, found := strings.Cut(read("README.md"), "## What it catches")
	require.True(t, found)
	command := regexp.MustCompile("(?m)^\\| `make (\\S+)` \\| (\\w+ minutes)")
	printed := command.FindAllStringSubmatch(top, -1)
	require.Len(t, printed, 2)
	require.Equal(t, "demo", printed[0][1])
	require.Equal(t, "test", printed[1][1])
	duration := printed[1][2]

	makefile := read("Makefile")
	require.Regexp(t, `(?m)^demo:`, makefile)
	require.Regexp(t, `(?m)^test: .*## in `+duration+`\b`, makefile)
	require.Contains(t, read("CONTRIBUTING.md"), "| `make test` | "+duration)
	require.Regexp(t, `(?m)^echo "== test"; make test `, read(".ci/run"))
}
