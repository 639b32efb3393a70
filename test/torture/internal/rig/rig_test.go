package rig

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
)

// A run whose rounds had no violations leaves nothing behind. Logs of a round with violations stay.
func TestOnlyFoldersWithLogsStay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, logs := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		h := host.New(ctx, cancel)
		dir, err := logFolder(h)
		require.NoError(t, err)
		require.DirExists(t, dir)
		if logs {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "service.log"), nil, 0o600))
		}
		h.Close()
		if logs {
			require.DirExists(t, dir)
		} else {
			require.NoDirExists(t, dir)
		}
		cancel(nil)
	}
}
