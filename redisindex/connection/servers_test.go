package connection_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/redisindex/connection"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// A cluster is up only when all its masters answer, because claims need each of them.
func TestPingAsksAllMasters(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 0)
	client := redisrig.Connect(t, redisrig.ClusterOptions(cluster))
	require.NoError(t, connection.Ping(t.Context(), client))
	killed, err := cluster.KillMaster(t.Context(), 0)
	require.NoError(t, err)
	for range 5 {
		require.Error(t, connection.Ping(t.Context(), client))
	}
	killed.Restart()
	require.NoError(t, cluster.WaitReady(t.Context()))
	require.Eventually(t, func() bool { return connection.Ping(t.Context(), client) == nil }, time.Minute,
		20*time.Millisecond, "connections to the killed master fail first")
}

// A replica that accepts requests and does not answer says nothing about the masters.
func TestPingNeedsNoReplica(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 1, 1, "--cluster-node-timeout", "60000")
	o := redisrig.ClusterOptions(cluster)
	o.Timeout = time.Minute // as long a wait for the replica's answer would be
	client := redisrig.Connect(t, o)
	require.NoError(t, connection.Ping(t.Context(), client))
	replicas, err := cluster.Replicas(t.Context(), 0)
	require.NoError(t, err)
	pid := replicas[0].Pid()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()
	for range 5 { // every other one asks the replica who the masters are
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		require.NoError(t, connection.Ping(ctx, client))
		cancel()
	}
}
