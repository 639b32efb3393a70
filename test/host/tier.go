package host

import (
	"os"
	"testing"
)

// IsAll says whether make test-all runs, which sets ECHOSIEVE_TEST_ALL.
func IsAll() bool { return os.Getenv("ECHOSIEVE_TEST_ALL") != "" }

// All skips the test unless make test-all runs. It is for tests that are dear, and whose promise a test of
// make test proves, too.
func All(t testing.TB) {
	t.Helper()
	if !IsAll() {
		t.Skip("only with make test-all (ECHOSIEVE_TEST_ALL=1)")
	}
}
