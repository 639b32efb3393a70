package connection_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// problems returns the findings as "severity setting".
func problems(findings []diag.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, string(f.Severity)+" "+f.Subject[strings.LastIndex(f.Subject, " ")+1:])
	}
	return out
}

// checkAll is what the command check asks of the index.
func checkAll(ctx context.Context, client redis.UniversalClient, cfg keyspace.Config, waits int) []diag.Finding {
	return connection.Check(ctx, client, cfg, waits,
		func(ctx context.Context) error { return redisindex.Trial(ctx, client, cfg) })
}

func TestCheck(t *testing.T) {
	good := []string{"--maxmemory-policy", "noeviction", "--hash-max-listpack-value", "1024", "--appendonly", "yes",
		"--maxmemory", "1gb"}
	for _, test := range []struct {
		name string
		args []string
		acl  []any
		want []string
	}{
		{"good", nil, nil, nil},
		{"no persistence", []string{"--appendonly", "no"}, nil, []string{"warning appendonly"}},
		{"evicts", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, nil,
			[]string{"warning maxmemory-policy"}},
		{"may evict later", []string{"--maxmemory", "0", "--maxmemory-policy", "volatile-ttl"}, nil,
			[]string{"info maxmemory", "info maxmemory-policy"}},
		{"no bound", []string{"--maxmemory", "0"}, nil, []string{"info maxmemory"}},
		{"large hashes", []string{"--hash-max-listpack-value", "64"}, nil, []string{"warning hash-max-listpack-value"}},
		{"very large hashes", []string{"--hash-max-listpack-value", "2048"}, nil,
			[]string{"warning hash-max-listpack-value"}},
		{"many fields", []string{"--hash-max-listpack-entries", "16"}, nil,
			[]string{"warning hash-max-listpack-entries"}},
		{"password", []string{"--requirepass", "x"}, nil, []string{"failure redis"}},
		{"no rights", nil, []any{"-hmget"}, []string{"failure redis"}},
		{"no rights to ask", nil, []any{"-config", "-info"}, []string{"info INFO", "info settings"}},
		// a setting for sets, and none for hashes of block lists
		{"sets, small", []string{"--hash-max-listpack-value", "2048", "--set-max-intset-entries", "512"}, nil,
			[]string{"warning set-max-intset-entries"}},
		{"sets", []string{"--hash-max-listpack-value", "2048", "--set-max-intset-entries", "2048"}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var args []string
			for i := 0; i < len(good); i += 2 {
				if !slices.Contains(test.args, good[i]) {
					args = append(args, good[i], good[i+1])
				}
			}
			server := redisserver.Start(t, append(args, test.args...)...)
			client := redisrig.Client(t, server.Addr)
			if test.acl != nil {
				require.NoError(t, client.Do(t.Context(), append([]any{"ACL", "SETUSER", "default"},
					test.acl...)...).Err())
			}
			cfg := redisrig.Config(redisrig.Standard)
			if strings.HasPrefix(test.name, "sets") {
				cfg.Buckets = keyspace.BucketsSets
			}
			require.Equal(t, test.want, problems(checkAll(t.Context(), client, cfg, 0)))
		})
	}
}

func TestCheckWithoutServerCommands(t *testing.T) {
	findings := checkAll(t.Context(), redisrig.Client(t, miniredis.RunT(t).Addr()), redisrig.Config(redisrig.Standard), 0)
	for _, f := range findings {
		require.Equal(t, diag.Info, f.Severity, "%+v", f)
	}
	require.NotEmpty(t, findings)
}

func TestCheckWithoutServer(t *testing.T) {
	o := connection.DefaultOptions()
	o.Addrs, o.Timeout = []string{"127.0.0.1:1"}, time.Second
	client, err := connection.Connect(o)
	require.NoError(t, err)
	defer client.Close()
	require.Equal(t, []string{"failure redis"},
		problems(checkAll(t.Context(), client, redisrig.Config(redisrig.Standard), 0)))
}

// Each kind of server is used with the settings for every other kind. The error names the setting that does not fit.
func TestWrongMode(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t).Addr
	locked := redisserver.Start(t, "--requirepass", "secret").Addr
	cluster := redisserver.StartCluster(t, 3, 0).Addrs()
	sentinels := redisserver.StartSentinel(t).Addrs()
	options := func(master string, addrs ...string) connection.Options {
		o := connection.DefaultOptions()
		o.Addrs, o.MasterName = addrs, master
		return o
	}
	single := func(addr string) connection.Options { return options("", addr) }
	clustered := func(addrs ...string) connection.Options { o := options("", addrs...); o.Cluster = true; return o }
	withPassword := func(o connection.Options) connection.Options { o.Password = "secret"; return o }
	const unusable = "this is no Redis server that the index can use"
	for name, c := range map[string]struct {
		options       connection.Options
		cause, remedy string
	}{
		"node of a cluster as server": {single(cluster[0]), "this Redis is a node of a Redis Cluster",
			"set redis.cluster: true"},
		"server as cluster": {clustered(server), "this Redis is not part of a Redis Cluster", "set redis.cluster: false"},
		"server with password, cluster": {withPassword(clustered(locked)), "this Redis is not part of a Redis Cluster",
			"set redis.cluster: false"},
		"sentinel as server":           {single(sentinels[0]), unusable, "for a sentinel set redis.master_name"},
		"sentinel as server, password": {withPassword(single(sentinels[0])), unusable, "set redis.master_name"},
		"sentinel as cluster":          {clustered(sentinels...), unusable, "for a sentinel set redis.master_name"},
		"server as sentinel": {options("news", server), "the servers of redis.addrs are no sentinels",
			"remove redis.master_name"},
		"server with password, watched": {withPassword(options("news", locked)), "the sentinels refused the login",
			"redis.sentinel_password_file"},
		"cluster as sentinels": {options("news", cluster...), "the servers of redis.addrs are no sentinels",
			"remove redis.master_name"},
		"another master's name": {options("nwes", sentinels...), "the sentinels watch no master of this name",
			"to one that SENTINEL MASTERS lists"},
	} {
		t.Run(name, func(t *testing.T) {
			client := redisrig.Connect(t, c.options)
			found := checkAll(t.Context(), client, redisrig.Config(redisrig.Standard), 0)
			require.Equal(t, diag.Failure, found[0].Severity)
			require.Contains(t, found[0].Problem, c.cause)
			require.Contains(t, found[0].Remedy, c.remedy)
			require.NotContains(t, found[0].Problem, "\n")
		})
	}
}

// Sentinels can require a separate login. If it is missing or wrong, the error says so.
func TestSentinelsWantALogin(t *testing.T) {
	t.Parallel()
	servers := redisserver.StartSentinel(t)
	for _, s := range servers.Sentinels {
		require.NoError(t, s.Client.Do(t.Context(), "ACL", "SETUSER", "watcher", "on", ">right", "+@all",
			"&*", "~*").Err())
		require.NoError(t, s.Client.Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">other").Err())
	}
	o := redisrig.SentinelOptions(servers)
	for _, login := range []struct{ user, password, cause string }{
		{"", "", "the sentinels refused the login"},
		{"watcher", "wrong", "the sentinels refused the login"},
		{"watcher", "right", ""},
		{"", "other", ""},
	} {
		o.SentinelUsername, o.SentinelPassword = login.user, login.password
		client := redisrig.Connect(t, o)
		err := connection.Explain(connection.Ping(t.Context(), client), client, "echosieve")
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
	cluster := redisserver.StartCluster(t, 3, 1, "--appendonly", "yes", "--hash-max-listpack-value", "1024",
		"--maxmemory", "1gb")
	o := redisrig.Crowded(redisrig.ClusterOptions(cluster))
	check := func() []string {
		client := redisrig.Connect(t, o)
		return problems(checkAll(t.Context(), client, redisrig.Config(redisrig.Standard), o.WaitReplicas))
	}
	require.Equal(t, []string{"info replicas", "info replicas", "info replicas"}, check())
	o.WaitReplicas = 1
	require.Empty(t, check())
	replica := cluster.Servers[4]
	require.NoError(t, replica.Client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	require.Equal(t, []string{"warning maxmemory-policy"}, check())
	o.WaitReplicas, o.WaitTimeout = 2, time.Second
	findings := check()
	require.Contains(t, findings, "failure redis", "a trial claim fails")
	require.Contains(t, findings, "failure replicas")
}

// A cluster is up only when all its masters answer, because claims need each of them.
func TestPingAsksAllMasters(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 0)
	client := redisrig.Connect(t, redisrig.ClusterOptions(cluster))
	require.NoError(t, connection.Ping(t.Context(), client))
	killed, err := cluster.Owner(t.Context(), 0)
	require.NoError(t, err)
	killed.Kill()
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
