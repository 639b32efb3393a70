package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
)

// The files of the evaluation's tests: the articles of the shipped sample, an hour after each other, one that is
// ambiguous and a line that is no JSON; pairs of copies with their originals and of look-alikes; pairs to ignore.
const (
	evalDocs   = "testdata/stream.jsonl"
	evalPairsF = "testdata/pairs.tsv"
	evalIgnore = "testdata/ignore.tsv"
)

// runEval runs an eval command and returns its exit code, standard output and standard error.
func runEval(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return commandtest.Run(t, command.Program(&cobra.Command{Use: "echosieve-lab"}, Command()), "", append([]string{"eval"}, args...)...)
}

// writeLines writes a file of JSON Lines.
func writeLines(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "docs.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return name
}
