package setup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	if lines := strings.TrimSpace(string(text)); lines != "" {
		calls = strings.Split(lines, "\n")
	}
	return cmd.ProcessState.ExitCode(), output.String(), calls
}

func TestSetup(t *testing.T) {
	root, some := machine{"apt-get": working, "id": asRoot}, strings.NewReplacer(" lua5.4", "", " redis-server", "",
		" prometheus", "").Replace(everything)
	noMaven := strings.Replace(everything, " mvn", "", 1)
	const command = `apt-get update && apt-get install -y --no-install-recommends redis-server lua5.4 prometheus"` + "\n"
	for name, c := range map[string]struct {
		what, present string
		stubs         machine
		code          int
		said          string // holds
		calls         []string
	}{
		"nothing is missing":       {"test", everything, root, 0, "", nil},
		"a build needs no servers": {"build", "make gcc g++", root, 0, "", nil},
		"root installs":            {"test", some, root, 0, "", []string{update, install + "redis-server lua5.4 prometheus -qq"}},
		"sudo that asks nothing": {"test", strings.Replace(everything, " g++", "", 1),
			machine{"apt-get": working, "id": asUser, "sudo": willing}, 0, "", []string{"sudo -n true", "sudo -n " + update,
				update, "sudo -n " + install + "g++ -qq", install + "g++ -qq"}},
		// else it prints one command, does nothing, and ends
		"sudo asks": {"test", some, machine{"apt-get": working, "id": asUser, "sudo": asking}, 1,
			`    sudo sh -c "` + command, nil},
		"no sudo":       {"test", some, machine{"apt-get": working, "id": asUser}, 1, `    su -c "` + command, nil},
		"other systems": {"test", noMaven, machine{"id": asRoot}, 1, "packages, then start again: maven\n", nil},
		"nothing changes": {"test", noMaven, machine{"apt-get": `true`, "id": asRoot}, 1,
			"still not found in PATH: programs of maven", nil},
		"no Go": {"test", everything, machine{"go": "remove"}, 1, "https://go.dev/dl", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := with(c.present, c.stubs)
			if m["go"] != "" {
				delete(m, "go")
			}
			code, said, calls := m.run(t, c.what)
			require.Equal(t, c.code, code, said)
			require.Contains(t, said, c.said)
			require.LessOrEqual(t, strings.Count(said, "apt-get install"), 1)
			require.Equal(t, c.calls, calls)
		})
	}
}

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

// README, near its top, names the two commands of a fresh machine with their durations.
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
