// Package setup tests the two commands of a fresh machine.
package setup

import (
	"regexp"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
)

// README, near its top, names the two commands of a fresh machine with their durations.
func TestTheTwoCommands(t *testing.T) {
	top, _, found := strings.Cut(host.Read(t, "README.md"), "## What it catches")
	require.True(t, found)
	command := regexp.MustCompile("(?m)^\\| `make (\\S+)` \\| (\\w+ minutes)")
	printed := command.FindAllStringSubmatch(top, -1)
	require.Len(t, printed, 2)
	require.Equal(t, "demo", printed[0][1])
	require.Equal(t, "test", printed[1][1])
	duration := printed[1][2]

	makefile := host.Read(t, "Makefile")
	require.Regexp(t, `(?m)^demo:`, makefile)
	require.Regexp(t, `(?m)^test: .*## in `+duration+`\b`, makefile)
	require.Contains(t, host.Read(t, "CONTRIBUTING.md"), "| `make test` | "+duration)
	require.Regexp(t, `(?m)^echo "== test"; make test `, host.Read(t, ".ci/run"))
}
