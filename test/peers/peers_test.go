// Package peers holds run, a script that measures Echosieve beside programs of other people. It needs PyPI,
// so tests only parse it.
package peers

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScriptsParse(t *testing.T) {
	out, err := exec.Command("bash", "-n", "run").CombinedOutput()
	require.NoError(t, err, "%s", out)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err = exec.Command(python, "-c", `import ast; ast.parse(open("peers.py").read())`).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
