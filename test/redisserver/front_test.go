package redisserver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/loopback"
)

// Servers speak to each other through the front. The test goes past it.
func TestFront(t *testing.T) {
	t.Run("Cluster", func(t *testing.T) {
		counts := loopback.Counter{}
		c := StartClusterBehind(t, counts.Front(t), 1, 1)
		require.Len(t, counts, 4)
		master, replica := c.Servers[0], c.Servers[1]
		require.Contains(t, c.Client(replica).Info(t.Context(), "replication").Val(),
			"master_port:"+portOf(master.Addr))
		for addr, n := range counts {
			require.Equal(t, addr != replica.Addr, n.Load() > 0,
				"replication and gossip go through the front, the connections of the test do not")
		}
	})
	t.Run("Sentinel", func(t *testing.T) {
		counts := loopback.Counter{}
		c := StartSentinelBehind(t, counts.Front(t))
		require.Len(t, counts, 5)
		_, err := c.Failover(t.Context())
		require.NoError(t, err)
		for addr, n := range counts {
			require.Positive(t, n.Load(), addr)
		}
	})
}
