package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/kafkaserver"
	"echosieve/test/loopback"
	"echosieve/test/redisserver"
	"echosieve/test/tier"
)

// The command finds both servers, they end with it, and its exit code is passed on.
func TestServersEndWithTheCommand(t *testing.T) {
	loopback.SkipShort(t)
	tier.All(t)
	t.Setenv(kafkaserver.Variable, "")
	t.Setenv(redisserver.Variable, "")
	t.Setenv("TMPDIR", t.TempDir())
	code, err := run([]string{"sh", "-c", "echo $" + kafkaserver.Variable + " $" + redisserver.Variable +
		" > $TMPDIR/addrs; exit 3"})
	require.NoError(t, err)
	require.Equal(t, 3, code)
	addrs, err := os.ReadFile(filepath.Join(os.TempDir(), "addrs"))
	require.NoError(t, err)
	require.Len(t, strings.Fields(string(addrs)), 2)
	for _, addr := range strings.Fields(string(addrs)) {
		_, err := net.Dial("tcp", addr)
		require.Error(t, err, "%s still answers", addr)
	}
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Len(t, left, 1, "the folders of the servers are gone")
}
