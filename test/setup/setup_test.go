// Package setup tests .ci/run, the gate, and the two commands of a fresh machine.
package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"echosieve/test/host"

	"github.com/stretchr/testify/require"
)

// gate runs .ci/run in a folder of its own, with stubs of .ci/setup and of make. tests is the stub of make test.
func gate(t *testing.T, tests string) (code int, said string) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		".ci/run": host.Read(t, ".ci/run"), ".ci/setup": "#!/bin/sh\n",
		"bin/make": "#!/bin/sh\ntest \"$1\" = test || exit 0\n" + tests + "\n",
	} {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci/run"))
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "CI=true"}
	output, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(output)
}

func TestGateNamesTheSlowestPackages(t *testing.T) {
	code, said := gate(t,
		`printf 'ok  \techosieve/b\t9.2s\nok  \techosieve/a\t12.3s\nok  \techosieve/c\t(cached)\n'; cat`)
	require.Zero(t, code, said)
	require.Regexp(t, `slowest packages, in seconds\n12\.3 echosieve/a\n9\.2 echosieve/b\n== 0 minutes \d+ seconds, exit code 0\n$`, said)
	code, said = gate(t, `printf 'FAIL\techosieve/b\t9.2s\n'; exit 2`)
	require.Equal(t, 2, code)
	require.Regexp(t, `\n9\.2 echosieve/b\n== .* exit code 2\n$`, said)
}

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
