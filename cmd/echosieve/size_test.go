package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostBytes is the largest service binary that we ship. OpenTelemetry takes 1.0 MB of it, the dictionaries 4.1 MB.
const mostBytes = 28_000_000

// A list of imports does not show why a binary is large (see command.printUsage), so the test measures its size.
func TestServiceBinaryIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("links the service")
	}
	binary := filepath.Join(t.TempDir(), "echosieve")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	info, err := os.Stat(binary)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(mostBytes))
}
