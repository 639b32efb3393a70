// Package commandtest runs command lines in tests. A test that imports it does not see the settings that are
// in the environment of the user.
package commandtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"echosieve/app/command"
)

func init() {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "ECHOSIEVE_") &&
			!strings.HasPrefix(name, "ECHOSIEVE_TEST_") {
			_ = os.Unsetenv(name) // fails only for a name that cannot be one
		}
	}
}

// Any is an exit code that may be any.
const Any = -1

// Run runs one command line of a program, which must end with an exit code, and returns its output.
func Run(t testing.TB, code int, program *cobra.Command, in string, args ...string) (out, errOut string) {
	t.Helper()
	if args == nil {
		args = []string{} // cobra takes the arguments of the test binary for nil
	}
	var o, e bytes.Buffer
	got := command.Execute(t.Context(), program, args, strings.NewReader(in), &o, &e)
	require.True(t, got == code || code == Any, "exit code %d: %q\n%s%s", got, args, &o, &e)
	return o.String(), e.String()
}

// Only is a program that has one command.
func Only(cmd *cobra.Command) *cobra.Command {
	return command.Program(&cobra.Command{Use: "echosieve"}, cmd)
}

// Answer runs a command line with --json, which must succeed, and decodes its answer into T.
func Answer[T any](t testing.TB, program *cobra.Command, args ...string) (answer T) {
	t.Helper()
	out, _ := Run(t, command.ExitOK, program, "", append(args, "--json")...)
	require.NoError(t, json.Unmarshal([]byte(out), &answer), out)
	return answer
}

// WrongUsage runs one command line and requires the answer to wrong usage: one line on standard error that
// contains want, which says what to type, exit code 2, and nothing on standard output, so that no script
// takes the answer for a result.
func WrongUsage(t testing.TB, program *cobra.Command, want string, args ...string) {
	t.Helper()
	out, errOut := Run(t, command.ExitFailed, program, "", args...)
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

// Read returns the text of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Start runs the program of the test itself with arguments, in a process of its own and with a variable that tells
// its TestMain what to be. The process ends with the test.
func Start(t testing.TB, variable string, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), variable), os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	printed, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewReader(printed)
}
