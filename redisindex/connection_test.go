package redisindex

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/test/redisserver"
)

// A cluster is up only when all its masters answer, because claims need each of them.
func TestPingAsksAllMasters(t *testing.T) {
	t.Parallel()
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
	require.Eventually(t, func() bool { return Ping(t.Context(), client) == nil }, time.Minute, 20*time.Millisecond, "connections to the killed master fail first")
}

// A replica that accepts requests and does not answer says nothing about the masters.
func TestPingNeedsNoReplica(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 1, 1, "--cluster-node-timeout", "60000")
	o := clusterOptions(cluster)
	o.Timeout = time.Minute // as long a wait for the replica's answer would be
	client := connect(t, o)
	require.NoError(t, Ping(t.Context(), client))
	replicas, err := cluster.Replicas(t.Context(), 0)
	require.NoError(t, err)
	pid := replicas[0].Pid()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }()
	for range 5 { // every other one asks the replica who the masters are
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		require.NoError(t, Ping(ctx, client))
		cancel()
	}
}

// Remove deletes only the namespace: no key that begins alike, and none that the name would match as a pattern.
func TestRemove(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redisserver.Start(t).Addr})
	defer client.Close()
	ctx := t.Context()
	const namespace = `ev[a]l*\?`
	for i := range 2500 {
		require.NoError(t, client.Set(ctx, fmt.Sprintf("%s:b:%d", namespace, i), "x", 0).Err())
	}
	kept := []string{"eval:b:1", "eva", namespace + "2:b:1", namespace, "other"}
	for _, key := range kept {
		require.NoError(t, client.Set(ctx, key, "x", 0).Err())
	}
	require.NoError(t, Remove(ctx, client, namespace))
	left, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, kept, left)

	require.Error(t, Remove(ctx, client, ""), "that would be every key that begins with a colon")
	require.NoError(t, Remove(ctx, client, "nobody"))
}

// go-redis has one logger for all clients of a process. A program that uses this package keeps it, unless it asks for silence.
func TestSilenceClients(t *testing.T) {
	const name = "ECHOSIEVE_TEST_PRINTS"
	if how := os.Getenv(name); how != "" {
		if how == "silent" {
			SilenceClients()
		}
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
		_ = client.Expire(t.Context(), "key", time.Millisecond).Err() // go-redis says that this is less than a second
		require.NoError(t, client.Close())
		return
	}
	for how, want := range map[string]bool{"loud": true, "silent": false} {
		child := exec.Command(os.Args[0], "-test.run", "^TestSilenceClients$")
		child.Env = append(os.Environ(), name+"="+how)
		output, err := child.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Equal(t, want, strings.Contains(string(output), "truncating"), "%s: %s", how, output)
	}
}

// A user without a password would be ignored: go-redis does not log in then.
func TestUserWithoutPassword(t *testing.T) {
	o := DefaultOptions()
	o.Username = "sieve"
	require.ErrorContains(t, o.Validate(), "username is set without password")
	o.Password = "secret"
	require.NoError(t, o.Validate())
	o.MasterName, o.SentinelUsername = "news", "watcher"
	require.ErrorContains(t, o.Validate(), "sentinel_username is set without sentinel_password")
	o.SentinelPassword = "secret"
	require.NoError(t, o.Validate())
}
