// Package mutants shows that the tests of the index notice mistakes: each mutant is one mistake in package
// redisindex, or in the package that its file's path leads to, and a test must fail because of it.
// test/torture has mutants of the delivery that whole rounds notice. To add a mutant: add the text that it
// replaces, and the cheapest test that notices it, to promises or to others.
package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/mutant"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// mistake is a mutant and the test that must fail.
type mistake struct {
	name  string
	run   string // pattern for go test -run; before it can stand, with a space, a directory below package redisindex
	edits []edit
}

// edit is a file, whose path starts from package redisindex, a text that occurs there once, and its replacement.
type edit = mutant.Edit

// test returns the directory of the package whose tests must notice the mutant, from package redisindex, and
// the pattern of the tests. If run names no directory, it is redisindex or, for a file outside of it, the
// directory of the file.
func (m mistake) test() (dir, run string) {
	if dir, run, found := strings.Cut(m.run, " "); found {
		return dir, run
	}
	if file := m.edits[0][0]; strings.HasPrefix(file, "../") {
		return filepath.Dir(file), m.run
	}
	return ".", m.run
}

func TestMutants(t *testing.T) {
	host.SkipShort(t)
	root := source(t)
	overlay, err := mutant.Overlay(root, t.TempDir(), mutants(slices.Concat(promises, others)))
	require.NoError(t, err)
	t.Setenv(kafkaserver.Variable, kafkaserver.Shared(t).Addr)
	binaries := map[string]string{}
	for _, m := range slices.Concat(promises, chosen(t, root)) {
		dir, run := m.test()
		binary := filepath.Join(t.TempDir(), "package.test") // it outlives the mutant
		t.Run(m.name, func(t *testing.T) {
			if binaries[dir] == "" {
				binaries[dir] = build(t, binary, filepath.Join(root, dir), overlay)
			}
			t.Parallel() // some tests notice a mistake by waiting
			cmd := exec.CommandContext(t.Context(), binaries[dir], "-test.timeout=10m", "-test.failfast", "-test.run",
				run)
			cmd.Dir = filepath.Join(root, dir)
			cmd.Env = append(os.Environ(), "ECHOSIEVE_TEST_SCHEDULES=4000", "ECHOSIEVE_TEST_PATIENCE=1m",
				mutant.Variable+"="+m.name)
			output, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "no test noticed the mistake:\n%s", output)
			// A test that does not start, or that panics elsewhere, proves nothing.
			require.True(t, strings.Contains(string(output), "--- FAIL: Test"), "%s", output)
			t.Logf("%.1f s of CPU time\n%s", (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
				output)
		})
	}
}

// chosen are those of the others that this run tests.
func chosen(t *testing.T, root string) []mistake {
	if host.IsAll() {
		return others
	}
	changed := mutant.Changed(t.Context(), root)
	return slices.DeleteFunc(slices.Clone(others), func(m mistake) bool {
		return !slices.ContainsFunc(m.edits, func(e edit) bool { return changed[filepath.Join(root, e[0])] })
	})
}

// The edits of all mutants fit the code.
func TestMutantsFitTheCode(t *testing.T) {
	_, err := mutant.Overlay(source(t), t.TempDir(), mutants(slices.Concat(promises, others)))
	require.NoError(t, err)
}

// source is the folder where the paths of the mutants start.
func source(t *testing.T) string {
	path, err := filepath.Abs("../../redisindex")
	require.NoError(t, err)
	return path
}

func mutants(of []mistake) (all []mutant.Mutant) {
	for _, m := range of {
		all = append(all, mutant.Mutant{Name: m.name, Edits: m.edits})
	}
	return all
}

// build builds the tests of the package in the folder as a binary.
func build(t *testing.T, binary, folder, overlay string) string {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay,
		"-o", binary, ".")
	cmd.Dir = folder
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return binary
}
