package setup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	update  = "env DEBIAN_FRONTEND=noninteractive apt-get update -qq"
	install = "env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
)

// everything is the programs that the tests need.
const everything = "make gcc g++ redis-server lua5.4 prometheus promtool java mvn kcat jq chromium rpm python3"

// Stubs take the place of programs on the machine. They write the commands that they were called with into
// the file CALLS.
const (
	asRoot = "echo 0"
	asUser = "echo 1000"
	// "Installs" the programs by creating empty files.
	working = `echo "env DEBIAN_FRONTEND=$DEBIAN_FRONTEND apt-get $*" >>"$CALLS"
case "$*" in *install*) cd "$STUBS" && touch ` + everything + ` && chmod 755 ` + everything + ` ;; esac`
	broken  = `echo "env DEBIAN_FRONTEND=$DEBIAN_FRONTEND apt-get $*" >>"$CALLS"`
	willing = `echo "sudo $*" >>"$CALLS"; shift; exec "$@"`
	asking  = `echo "sudo: a password is required" >&2; exit 1`
)

// machine is the programs in PATH, as shell scripts by their names. The script under test finds no other programs.
type machine map[string]string

func with(present string, stubs machine) machine {
	m := machine{"go": ""}
	for _, program := range strings.Fields(present) {
		m[program] = ""
	}
	for name, body := range stubs {
		m[name] = body
	}
	return m
}

// run runs .ci/setup on the machine. It returns the exit code, the output, and the calls of the stubs.
func (m machine) run(t *testing.T, what string) (code int, said string, calls []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"env", "chmod", "touch", "true"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	for name, body := range m {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	}
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	script, err := os.ReadFile("../../.ci/setup") // the test reads the file itself, so that go test notices changes
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), bash, "-c", string(script), "setup", what)
	cmd.Env = []string{"PATH=" + bin, "CALLS=" + log, "STUBS=" + bin}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	_ = cmd.Run()
	text, _ := os.ReadFile(log)
	return cmd.ProcessState.ExitCode(), output.String(),
		strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

func TestNothingIsMissing(t *testing.T) {
	code, said, calls := with(everything, machine{"apt-get": working, "sudo": willing, "id": asRoot}).run(t, "test")
	require.Zero(t, code, said)
	require.Empty(t, said)
	require.Empty(t, calls)
}

func TestBuildNeedsNoServers(t *testing.T) {
	code, said, calls := with("make gcc g++", machine{"apt-get": working, "id": asRoot}).run(t, "build")
	require.Zero(t, code, said)
	require.Empty(t, calls)
}

func TestRootInstallsWhatIsMissing(t *testing.T) {
	code, said, calls := with("make gcc g++ java kcat jq chromium rpm python3",
		machine{"apt-get": working, "id": asRoot}).run(t, "test")
	require.Zero(t, code, said)
	require.Equal(t, []string{update, install + "redis-server lua5.4 prometheus maven -qq"}, calls)
}

func TestSudoThatAsksNothing(t *testing.T) {
	code, said, calls := with("make java mvn redis-server lua5.4 prometheus promtool kcat jq chromium rpm python3",
		machine{"apt-get": working, "id": asUser, "sudo": willing}).run(t, "test")
	require.Zero(t, code, said)
	require.Equal(t, []string{"sudo -n true", "sudo -n " + update, update, "sudo -n " + install + "g++ -qq",
		install + "g++ -qq"}, calls)
}

// If the user may not install programs, the script prints one command, does nothing, and ends.
func TestOneCommandIsPrinted(t *testing.T) {
	for name, c := range map[string]struct {
		stubs   machine
		command string
	}{
		"sudo asks": {machine{"sudo": asking},
			`    sudo sh -c "apt-get update && apt-get install -y --no-install-recommends redis-server lua5.4 prometheus"` + "\n"},
		"no sudo": {nil, `    su -c "apt-get update && apt-get install -y --no-install-recommends redis-server lua5.4 prometheus"` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := with("make gcc g++ java mvn promtool kcat jq chromium rpm python3", c.stubs)
			m["apt-get"], m["id"] = working, asUser
			code, said, calls := m.run(t, "test")
			require.Equal(t, 1, code)
			require.Contains(t, said, c.command)
			require.Equal(t, 1, strings.Count(said, "apt-get install"))
			require.Empty(t, calls)
		})
	}
}

func TestOtherSystemsAreToldTheNames(t *testing.T) {
	code, said, _ := with("make gcc g++ java promtool prometheus redis-server lua5.4 kcat jq chromium rpm python3",
		machine{"id": asRoot}).run(t, "test")
	require.Equal(t, 1, code)
	require.Contains(t, said, "packages, then start again: maven\n")
}

func TestGoIsNotInstalled(t *testing.T) {
	m := with(everything, nil)
	delete(m, "go")
	code, said, _ := m.run(t, "test")
	require.Equal(t, 1, code)
	require.Contains(t, said, "https://go.dev/dl")
}

func TestInstallationThatChangesNothing(t *testing.T) {
	code, said, _ := with("make gcc g++ java promtool prometheus redis-server lua5.4 kcat jq chromium rpm python3",
		machine{"apt-get": broken, "id": asRoot}).run(t, "test")
	require.Equal(t, 1, code)
	require.Contains(t, said, "still not found in PATH: programs of maven")
}
