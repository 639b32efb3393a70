// Package commandtest runs command lines in tests. A test that imports it does not see the settings that are
// in the environment of the user.
package commandtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command"
)

func init() {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "ECHOSIEVE_") &&
			!strings.HasPrefix(name, "ECHOSIEVE_TEST_") {
			_ = os.Unsetenv(name) // fails only for a name that cannot be one
		}
	}
}

// Run runs one command line of a program and returns its exit code and its output.
func Run(t testing.TB, program *cobra.Command, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	if args == nil {
		args = []string{} // cobra takes the arguments of the test binary for nil
	}
	var o, e bytes.Buffer
	code = command.Execute(t.Context(), program, args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// RunOnly runs a command line of a program that has one command. args come after the name of the command.
func RunOnly(t testing.TB, cmd *cobra.Command, args ...string) (code int, out, errOut string) {
	t.Helper()
	return Run(t, command.Program(&cobra.Command{Use: "echosieve"}, cmd), "", append([]string{cmd.Name()}, args...)...)
}

// Answer is RunOnly with --json. The command must succeed; its answer is decoded into T.
func Answer[T any](t testing.TB, cmd *cobra.Command, args ...string) (answer T) {
	t.Helper()
	code, out, errOut := RunOnly(t, cmd, append(args, "--json")...)
	require.Equal(t, command.ExitOK, code, errOut)
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	return answer
}

// WrongUsage runs one command line and requires the answer to wrong usage: one line on standard error that
// contains want, which says what to type, exit code 2, and nothing on standard output, so that no script
// takes the answer for a result.
func WrongUsage(t testing.TB, program *cobra.Command, want string, args ...string) {
	t.Helper()
	code, out, errOut := Run(t, program, "", args...)
	require.Equal(t, command.ExitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errOut, want)
	require.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	require.True(t, strings.HasPrefix(errOut, program.Name()+": "), errOut)
	require.Less(t, len(errOut), 600)
}

// Documented requires that every command has a short description and, unless withoutJSON names the command,
// the flag --json.
func Documented(t *testing.T, cmd *cobra.Command, withoutJSON ...string) {
	t.Helper()
	require.NotEmpty(t, cmd.Short, cmd.CommandPath())
	if cmd.Runnable() && cmd.HasParent() && !cmd.Hidden {
		require.Equal(t, !slices.Contains(withoutJSON, cmd.Name()), cmd.Flags().Lookup("json") != nil,
			cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		Documented(t, sub, withoutJSON...)
	}
}

// FitsTerminal requires that no line of an output is wider than a terminal.
func FitsTerminal(t testing.TB, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")), command.Columns,
			"%s\nin\n%s", line, out)
	}
}

// File writes a file into a new temporary folder and returns its path.
func File(t testing.TB, name, text string) string {
	t.Helper()
	return FileIn(t, t.TempDir(), name, text)
}

// FileIn writes a file into a folder and returns its path.
func FileIn(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
