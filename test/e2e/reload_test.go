package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/test/service"
)

// SIGHUP makes the running program read its file again. The program needs no servers for that.
func TestHangupReloads(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "echosieve.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("log: {level: info}\n")
	p := service.Start(t, service.Settings{"kafka.brokers": "127.0.0.1:1", "redis.addrs": "127.0.0.1:1",
		"config": file})
	require.Eventually(t, func() bool { return strings.HasPrefix(p.Get("/healthz"), "200") }, service.Patience,
		50*time.Millisecond)
	require.NotContains(t, p.Log(), "level=DEBUG")

	write("log: {level: debug}\n")
	require.NoError(t, p.Cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return strings.Contains(p.Log(), "level=DEBUG") }, service.Patience,
		50*time.Millisecond, "retries are logged at level debug")
	require.Contains(t, p.Log(), "changed=[log.level]")
	require.Zero(t, p.End(t))
}
