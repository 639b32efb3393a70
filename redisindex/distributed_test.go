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

	"echosieve/internal/base/diag"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// distributed are the set-ups with more than one server. Each start returns how to reach it.
var distributed = []struct {
	name  string
	start func(t testing.TB) Options
}{
	{"Cluster", func(t testing.TB) Options { return clusterOptions(redisserver.StartCluster(t, 3, 1)) }},
	{"Sentinel", func(t testing.TB) Options { return sentinelOptions(redisserver.StartSentinel(t)) }},
}

func clusterOptions(c *redisserver.Cluster) Options {
	o := DefaultOptions()
	o.Addrs, o.Cluster = c.Addrs(), true
	return o
}

func sentinelOptions(c *redisserver.Sentinel) Options {
	o := DefaultOptions()
	o.Addrs, o.MasterName = c.Addrs(), redisserver.MasterName
	return o
}

// crowded gives the servers the time that they need on a crowded machine. It is for tests in which no server fails, and which do not try
// again.
func crowded(o Options) Options {
	o.Timeout, o.WaitTimeout = time.Minute, 30*time.Second
	return o
}

func connect(t testing.TB, o Options) redis.UniversalClient {
	t.Helper()
	client, err := Connect(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestContractDistributed(t *testing.T) {
	for _, d := range distributed {
		t.Run(d.name, func(t *testing.T) {
			o := crowded(d.start(t))
			for _, wait := range []int{0, 1} {
				o.WaitReplicas = wait
				for suffix, buckets := range kinds {
					t.Run(fmt.Sprint("wait ", wait, suffix), func(t *testing.T) {
						client := connect(t, o)
						indextest.Run(t, func(t *testing.T, p indextest.Params) pipeline.Index {
							return newIndex(t, client, kindConfig(p, buckets))
						})
					})
				}
			}
		})
	}
}

func TestInterleavingDistributed(t *testing.T) {
	schedules, seed := interleavings(t)
	for _, d := range distributed {
		t.Run(d.name, func(t *testing.T) {
			o := crowded(d.start(t))
			for suffix, buckets := range kinds {
				t.Run("Buckets"+suffix, func(t *testing.T) {
					interleave(t, schedules/2, seed, buckets, func() redis.UniversalClient { return connect(t, o) })
				})
			}
		})
	}
}

// The index is spread over all masters: every one holds entries and block lists, in similar numbers.
func TestKeysSpreadOverMasters(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 0)
	client := connect(t, clusterOptions(cluster))
	cfg := testConfig(standard)
	cfg.ExpectedArticles = 8_000_000 // 256 hashes of block lists
	x := newIndex(t, client, cfg)
	claims := make([]article.Article, 1000)
	for n := range claims {
		claims[n] = newArticle(n, simhash.Fingerprint(n)*0x9E3779B97F4A7C15)
	}
	_, err := x.Claim(t.Context(), claims)
	require.NoError(t, err)
	for _, kind := range []string{"b:*", "o:*"} {
		var all int
		counts := map[string]int{}
		for _, s := range cluster.Servers {
			keys, err := cluster.Client(s).Keys(t.Context(), x.keys.prefix+kind).Result()
			require.NoError(t, err)
			counts[s.Addr] = len(keys)
			all += len(keys)
		}
		require.Greater(t, all, 50)
		for addr, n := range counts {
			require.Greater(t, n, all/6, "%s of %v", addr, counts)
		}
	}
	seen, err := cluster.Errors(t.Context())
	require.NoError(t, err)
	require.Zero(t, seen["CROSSSLOT"])
}

// With fewer replicas than redis.wait_replicas no claim gets a verdict, and the error says why.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		start func(t testing.TB) Options
	}{
		{"Single", func(t testing.TB) Options {
			o := DefaultOptions()
			o.Addrs = []string{redisserver.Start(t).Addr}
			return o
		}},
		{"Cluster", func(t testing.TB) Options { return clusterOptions(redisserver.StartCluster(t, 3, 0)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.start(t)
			o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, time.Millisecond
			x, err := New(connect(t, o), testConfig(standard), nil, slog.New(slog.DiscardHandler), nil)
			require.NoError(t, err)
			for n := range 3 { // probably on three nodes; none may get a verdict
				_, err = x.attempt(t.Context(), []article.Article{newArticle(n, simhash.Fingerprint(n)*0x9E3779B97F4A7C15)}, newCall(x, nil))
				require.ErrorIs(t, err, errReplicas)
				require.Equal(t, "replicas", classify(err))
				require.ErrorContains(t, err, "0 of 1")
			}
		})
	}
}

// A replica was cut off from its master, or its master will be frozen until after it was replaced. The replica has acknowledged
// everything that there was to acknowledge. Replies of the master may be old, so they must not be used.
func TestReadsNeedReplicas(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 1)
	o := clusterOptions(cluster)
	o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, 2*time.Second
	client := connect(t, o)
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
		require.ErrorIs(t, err, errReplicas)
		require.Eventually(t, func() bool { return errors.Is(read(), redis.Nil) }, time.Minute, 20*time.Millisecond)
	}
	seen, err := cluster.Errors(t.Context())
	require.NoError(t, err)
	require.Zero(t, seen["MOVED"], "a fence in another slot than its reads")
}

// Sentinels can require a separate login. If it is missing or wrong, the error says so.
func TestSentinelsWantALogin(t *testing.T) {
	t.Parallel()
	servers := redisserver.StartSentinel(t)
	for _, s := range servers.Sentinels {
		require.NoError(t, servers.Client(s).Do(t.Context(), "ACL", "SETUSER", "watcher", "on", ">right", "+@all", "&*", "~*").Err())
		require.NoError(t, servers.Client(s).Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">other").Err())
	}
	o := sentinelOptions(servers)
	for _, login := range []struct{ user, password, cause string }{
		{"", "", "the sentinels refused the login"},
		{"watcher", "wrong", "the sentinels refused the login"},
		{"watcher", "right", ""},
		{"", "other", ""},
	} {
		o.SentinelUsername, o.SentinelPassword = login.user, login.password
		client := connect(t, o)
		err := Explain(Ping(t.Context(), client), client, "echosieve")
		if login.cause == "" {
			require.NoError(t, err)
			continue
		}
		var p *diag.Problem
		require.ErrorAs(t, err, &p)
		require.Equal(t, login.cause, p.Cause, err)
	}
}

// Check asks every node of a cluster, because the settings of a replica count once it is a master.
func TestCheckAsksAllNodes(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 1, "--appendonly", "yes", "--hash-max-listpack-value", "1024")
	o := crowded(clusterOptions(cluster))
	check := func() []string {
		client := connect(t, o)
		return problems(append(Check(t.Context(), client, testConfig(standard)), CheckReplicas(t.Context(), client, o)...))
	}
	require.Equal(t, []string{"note replicas", "note replicas", "note replicas"}, check())
	o.WaitReplicas = 1
	require.Empty(t, check())
	replica := cluster.Servers[4]
	require.NoError(t, cluster.Client(replica).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.Equal(t, []string{"note maxmemory-policy"}, check())
	o.WaitReplicas, o.WaitTimeout = 2, time.Second
	findings := check()
	require.Contains(t, findings, "failure redis", "a trial claim fails")
	require.Contains(t, findings, "failure replicas")
}
