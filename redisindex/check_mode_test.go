package redisindex

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
	"echosieve/test/redisserver"
)

// Every kind of server is met with the settings for every other kind: check names the setting that does not fit, and the
// log of the service, which knows only the error, names the cause.
func TestWrongMode(t *testing.T) {
	server := redisserver.Start(t).Addr
	locked := redisserver.Start(t, "--requirepass", "secret").Addr
	cluster := redisserver.StartCluster(t, 3, 0).Addrs()
	sentinels := redisserver.StartSentinel(t).Addrs()
	single := func(addr string) Options {
		o := DefaultOptions()
		o.Addrs = []string{addr}
		return o
	}
	clustered := func(addrs ...string) Options {
		o := DefaultOptions()
		o.Addrs, o.Cluster = addrs, true
		return o
	}
	watched := func(name string, addrs ...string) Options {
		o := DefaultOptions()
		o.Addrs, o.MasterName = addrs, name
		return o
	}
	withPassword := func(o Options) Options {
		o.Password = "secret"
		return o
	}
	for name, c := range map[string]struct {
		options                Options
		problem, remedy, cause string // cause: what the error alone tells
	}{
		"node of a cluster as server":   {single(cluster[0]), "is a node of a Redis Cluster", "set redis.cluster: true", "this Redis is a node of a Redis Cluster"},
		"server as cluster":             {clustered(server), "is not part of a Redis Cluster", "set redis.cluster: false", "this Redis is not part of a Redis Cluster"},
		"server with password, cluster": {withPassword(clustered(locked)), "is not part of a Redis Cluster", "set redis.cluster: false", "this Redis is not part of a Redis Cluster"},
		"sentinel as server":            {single(sentinels[0]), "is a sentinel, not a server", "the master that it watches: news", "this is no Redis server that the index can use"},
		"sentinel as server, password":  {withPassword(single(sentinels[0])), "is a sentinel, not a server", "the master that it watches: news", "this is no Redis server that the index can use"},
		"sentinel as cluster":           {clustered(sentinels...), "is a sentinel, but redis.cluster is set", "redis.master_name to the master that it watches: news", "this is no Redis server that the index can use"},
		"server as sentinel":            {watched("news", server), "is a server, not a sentinel", "remove redis.master_name", "the servers of redis.addrs are no sentinels"},
		"server with password, watched": {withPassword(watched("news", locked)), "is a server, not a sentinel", "remove redis.master_name", "the sentinels refused the login"},
		"cluster as sentinels":          {watched("news", cluster...), "is a node of a Redis Cluster, not a sentinel", "set redis.cluster: true", "the servers of redis.addrs are no sentinels"},
		"another master's name":         {watched("nwes", sentinels...), `watches no master named "nwes"`, "to one that it watches: news", "the sentinels watch no master of this name"},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, c.options)
			found := Check(t.Context(), client, testConfig(standard))
			require.Equal(t, diag.Failure, found[0].Severity)
			require.Contains(t, found[0].Problem, c.cause)
			require.NotContains(t, found[0].Remedy, "log")
			require.NotContains(t, found[0].Problem, "\n")
			modes := CheckMode(t.Context(), c.options)
			require.Len(t, modes, len(c.options.Addrs))
			for i, f := range modes {
				require.Equal(t, diag.Failure, f.Severity)
				require.Equal(t, c.options.Addrs[i], f.Subject)
				require.Contains(t, f.Problem, c.problem)
				require.Contains(t, f.Remedy, c.remedy)
			}
		})
	}
	for name, o := range map[string]Options{
		"server": single(server), "cluster": clustered(cluster...), "sentinels": watched("news", sentinels...),
		"nobody there": single("127.0.0.1:1"),
	} {
		require.Empty(t, CheckMode(t.Context(), o), name)
	}
}

func TestAddrsWantAPort(t *testing.T) {
	o := DefaultOptions()
	o.Addrs = []string{"localhost"}
	require.EqualError(t, o.Validate(), `addrs has "localhost" without a port; did you mean localhost:6379?`)
	o.MasterName = "news"
	require.EqualError(t, o.Validate(), `addrs has "localhost" without a port; did you mean localhost:26379?`)
	o.Addrs = []string{"redis://:hunter2@localhost"}
	require.EqualError(t, o.Validate(), "addrs must be host:port, without scheme, user or password")
	o.Addrs, o.MasterName = []string{"/run/redis.sock"}, ""
	require.NoError(t, o.Validate())
}
