// Package tier says when a test runs: with go test -short (no servers), with go test, as make test does, or only with make test-all.
package tier

import (
	"os"
	"testing"
)

// All skips the test unless ECHOSIEVE_TEST_ALL is set, as make test-all sets it. It is for tests that are dear, and whose promise a test of
// make test proves, too.
func All(t testing.TB) {
	t.Helper()
	if os.Getenv("ECHOSIEVE_TEST_ALL") == "" {
		t.Skip("only with make test-all (ECHOSIEVE_TEST_ALL=1)")
	}
}
