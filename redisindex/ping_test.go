package redisindex

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/redisserver"
)

// A cluster is up when all its masters answer: claims need each of them.
func TestPingAsksAllMasters(t *testing.T) {
	cluster := redisserver.StartCluster(t, 3, 0)
	client := connect(t, clusterOptions(cluster))
	require.NoError(t, Ping(t.Context(), client))
	killed, err := cluster.KillMaster(t.Context(), 0)
	require.NoError(t, err)
	for range 5 {
		require.Error(t, Ping(t.Context(), client))
	}
	killed.Restart()
	require.NoError(t, cluster.WaitReady(t.Context()))
	require.NoError(t, Ping(t.Context(), client))
}
