// Package tier says when a test runs: with go test -short (no servers), with go test, as make test does, or
// only with make test-all.
package tier

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
