package deploy_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// checkPackage opens a Debian package with Debian's own tool and checks what it would install.
func checkPackage(t *testing.T, deb string, commit time.Time) {
	if !have(t, "dpkg-deb") {
		return
	}
	control := t.TempDir()
	output(t, control, "dpkg-deb", "--control", deb, "control")
	fields := string(contents(t, control, "control/control"))
	for _, line := range []string{"Package: echosieve", "Version: " + releaseDebian, "Architecture: amd64",
		"Depends: passwd"} {
		require.Contains(t, fields, line+"\n")
	}
	require.Equal(t, "/etc/echosieve/echosieve.yaml\n", string(contents(t, control, "control/conffiles")))
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		output(t, control, "sh", "-n", "control/"+script)
	}
	require.Contains(t, string(contents(t, control, "control/postinst")), "useradd --system ")

	tree := t.TempDir()
	modes := unpack(t, bytes.NewReader([]byte(output(t, tree, "dpkg-deb", "--fsys-tarfile", deb))), tree, commit)
	for name, mode := range map[string]fs.FileMode{
		"usr/bin/echosieve": 0o755, "etc/echosieve/echosieve.yaml": 0o640,
		"usr/lib/systemd/system/echosieve.service":                0o644,
		"usr/lib/systemd/system/echosieve-stories.service":        0o644,
		"usr/share/doc/echosieve/copyright":                       0o644,
		"usr/share/doc/echosieve/deploy/echosieve.reference.yaml": 0o644,
		"usr/share/doc/echosieve/docs/runbook.md":                 0o644,
		"usr/share/doc/echosieve/deploy/prometheus/alerts.yml":    0o644,
		"usr/share/man/man1/echosieve-run.1.gz":                   0o644,
		"usr/share/bash-completion/completions/echosieve":         0o644,
		"usr/share/zsh/vendor-completions/_echosieve":             0o644,
		"usr/share/fish/vendor_completions.d/echosieve.fish":      0o644,
	} {
		require.Equal(t, mode, modes[name], name)
	}
	require.NotContains(t, modes, "usr/bin/echosieve-lab", "a server needs nothing of the lab")
	program := filepath.Join(tree, "usr/bin/echosieve")
	require.Contains(t, output(t, tree, program, "--version"), releaseVersion)
	settings := output(t, tree, program, "config", "print", "--config",
		filepath.Join(tree, "etc/echosieve/echosieve.yaml"))
	require.Contains(t, settings, "localhost:9092")
	checkUnit(t, tree, program)
	cited := regexp.MustCompile(`/usr/share/doc/\S+`).FindString(
		string(contents(t, tree, "etc/echosieve/echosieve.yaml")))
	require.FileExists(t, filepath.Join(tree, cited))
}

// checkUnit has systemd read the units, with the program at its place in the tree, and judge how much they allow. The
// unit of stories is that of the service with another command.
func checkUnit(t *testing.T, tree, program string) {
	const folder = "usr/lib/systemd/system/"
	unit := string(contents(t, tree, folder+"echosieve.service"))
	require.Equal(t, unit, string(contents(t, tree, folder+"echosieve-stories.service")))
	const stories = "echosieve-stories.service.d/stories.conf"
	other := string(contents(t, tree, folder+stories))
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) (?:run|stories) --config (\S+)`)
	command := start.FindStringSubmatch(unit)
	require.NotNil(t, command)
	require.Equal(t, command[1:], start.FindStringSubmatch(other)[1:])
	require.Contains(t, other, "\nExecStart=\nExecStart=", "systemd would run both")
	require.FileExists(t, filepath.Join(tree, command[1]))
	require.FileExists(t, filepath.Join(tree, command[2]))
	require.Contains(t, unit, "\nExecReload=kill -HUP $MAINPID\n")
	require.Contains(t, unit, "\nUser=echosieve\n", "postinst creates this user")
	require.Contains(t, unit, "\nMemoryMax=512M\nEnvironment=GOMEMLIMIT=400MiB\n", "as in deploy/k8s")
	require.Contains(t, unit, "\nRestartPreventExitStatus=2\n", "a restart does not repair settings")
	require.Contains(t, unit, "\nEnvironment=GOTRACEBACK=crash\n", "without it a crash ends with exit code 2")
	if !have(t, "systemd-analyze") {
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, filepath.Dir(stories)), 0o755))
	for name, text := range map[string]string{"echosieve.service": unit, "echosieve-stories.service": unit,
		stories: other} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name),
			[]byte(strings.ReplaceAll(text, command[1]+" ", program+" ")), 0o600))
	}
	for _, name := range []string{"echosieve.service", "echosieve-stories.service"} {
		path := filepath.Join(dir, name)
		output(t, dir, "systemd-analyze", "verify", "--man=no", path)
		// 0 is no exposure, 100 is that of a unit without any limits.
		output(t, dir, "systemd-analyze", "security", "--offline=true", "--threshold=20", path)
	}
}

func contents(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return data
}
