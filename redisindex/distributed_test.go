package redisindex

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/connection"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
	"echosieve/test/tier"
)

func TestContractDistributed(t *testing.T) {
	for _, d := range redisrig.Distributed {
		t.Run(d.Name, func(t *testing.T) {
			if d.Name != "Cluster" {
				tier.All(t)
			}
			o := redisrig.Crowded(d.Start(t))
			o.WaitReplicas = 1
			client := redisrig.Connect(t, o)
			indextest.Run(t, func(t *testing.T, p indextest.Params) pipeline.Index {
				return newIndex(t, client, redisrig.Config(p))
			})
		})
	}
}

// With fewer replicas than redis.wait_replicas no claim gets a verdict, and the error says why.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		start func(t testing.TB) connection.Options
	}{
		{"Single", func(t testing.TB) connection.Options {
			o := connection.DefaultOptions()
			o.Addrs = []string{redisserver.Start(t).Addr}
			return o
		}},
		{"Cluster", func(t testing.TB) connection.Options {
			return redisrig.ClusterOptions(redisserver.StartCluster(t, 3, 0))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.start(t)
			o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, time.Millisecond
			x, err := New(redisrig.Connect(t, o), redisrig.Config(redisrig.Standard), nil,
				slog.New(slog.DiscardHandler), nil)
			require.NoError(t, err)
			for n := range 3 { // probably on three nodes; none may get a verdict
				_, err = x.attempt(t.Context(),
					[]article.Article{redisrig.Article(n, simhash.Fingerprint(n)*0x9E3779B97F4A7C15)}, newCall(x, nil))
				require.ErrorIs(t, err, connection.ErrReplicas)
				require.Equal(t, "replicas", classify(err))
				require.ErrorContains(t, err, "0 of 1")
			}
		})
	}
}

// A replica was cut off from its master, or its master will be frozen until after it was replaced. The
// replica has acknowledged everything that there was to acknowledge. Replies of the master may be old, so
// they must not be used.
func TestReadsNeedReplicas(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 1)
	o := redisrig.ClusterOptions(cluster)
	o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, 2*time.Second
	client := redisrig.Connect(t, o)
	for _, namespace := range []string{"plain", "a{tag}"} {
		read := func() error {
			pipe := client.Pipeline()
			for i := range 30 {
				pipe.HGet(t.Context(), fmt.Sprint(namespace, ":", i), "field")
			}
			_, err := pipe.Exec(t.Context())
			return err
		}
		require.Eventually(t, func() bool { return errors.Is(read(), redis.Nil) }, time.Minute, 20*time.Millisecond)
		for _, s := range cluster.Servers[3:] {
			require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGSTOP))
		}
		err := read()
		for _, s := range cluster.Servers[3:] {
			require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGCONT))
		}
		require.ErrorIs(t, err, connection.ErrReplicas)
		require.Eventually(t, func() bool { return errors.Is(read(), redis.Nil) }, time.Minute, 20*time.Millisecond)
	}
	seen, err := cluster.Errors(t.Context())
	require.NoError(t, err)
	require.Zero(t, seen["MOVED"], "a fence in another slot than its reads")
}
