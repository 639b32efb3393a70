package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// gate runs .ci/run in a folder of its own, with stubs of .ci/setup and of make. tests is the stub of make test.
func gate(t *testing.T, tests string) (code int, said string) {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("../../.ci/run")
	require.NoError(t, err)
	for path, text := range map[string]string{
		".ci/run": string(script), ".ci/setup": "#!/bin/sh\n",
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
