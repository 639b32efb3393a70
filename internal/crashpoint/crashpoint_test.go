package crashpoint

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// passing is set in the process that is to crash.
const passing = "ECHOSIEVE_TEST_PASSES"

func TestMain(m *testing.M) {
	if os.Getenv(passing) != "" {
		for range 3 {
			Here(AfterStoreEntries)
			Here(AfterCommit)
			_, _ = os.Stdout.WriteString("passed\n")
		}
		return
	}
	os.Exit(m.Run())
}

// The tag takes effect at build time, so the test builds itself once more with the tag.
func TestCrashAtTheNthPassage(t *testing.T) {
	binary := t.TempDir() + "/test"
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "crashpoints", "-o", binary,
		".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for setting, want := range map[string]int{"": 3, "after-store-entries:2": 1, "after-commit:3": 2,
		"after-look-up:1": 3} {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), passing+"=1", Variable+"="+setting)
		out, err := cmd.Output()
		require.Equal(t, want, strings.Count(string(out), "passed"), setting)
		if want < 3 {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, setting)
			require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), setting)
		} else {
			require.NoError(t, err, setting)
		}
	}
}

func TestPointsAreDistinct(t *testing.T) {
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(Points()))), len(Points()))
}
