package loopback

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Ports gives a port to one caller only while the test of that caller runs, even if nobody listens on the port.
func TestPorts(t *testing.T) {
	ports := Ports(t, 50)
	require.Len(t, ports, 50)
	for i, port := range ports {
		require.NotContains(t, ports[:i], port)
		require.Error(t, reserve(t, port))
	}
	var given int
	t.Run("Other", func(t *testing.T) { given = Ports(t, 1)[0] })
	require.NoError(t, reserve(t, given), "the test that had the port has ended")
}
