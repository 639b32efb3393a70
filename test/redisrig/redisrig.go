// Package redisrig is what tests of the packages below redisindex share: servers, clients, configurations and articles.
package redisrig

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// servers are the kinds of server that the tests run on. Each start returns an address.
var servers = []struct {
	name  string
	start func(t testing.TB) string
}{
	{"Mini", func(t testing.TB) string { return miniredis.RunT(t).Addr() }},
	{"Real", redisserver.Addr},
}

// chosen says whether tests run on a kind of server: with -short in process, without it on a real server, in
// make test-all on each kind, and on those that -run names.
func chosen(server string) bool {
	if pattern := flag.Lookup("test.run").Value.String(); strings.Contains(pattern, server) {
		return true
	}
	return os.Getenv("ECHOSIEVE_TEST_ALL") != "" || server == "Mini" && testing.Short() || server == "Real" &&
		!testing.Short()
}

// Own returns the address of a server that the test may flush: in process with -short, else a real one.
func Own(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		return miniredis.RunT(t).Addr()
	}
	return redisserver.Start(t).Addr
}

// OnServers runs a test on the chosen kinds of server.
func OnServers(t *testing.T, run func(t *testing.T, addr string)) {
	t.Helper()
	for _, server := range servers {
		if chosen(server.name) {
			t.Run(server.name, func(t *testing.T) { run(t, server.start(t)) })
		}
	}
}

// OnKinds runs a test on the chosen kinds of server, with each value of redis.buckets.
func OnKinds(t *testing.T, run func(t *testing.T, addr, buckets string)) {
	t.Helper()
	for _, server := range servers {
		for suffix, buckets := range Kinds {
			if chosen(server.name) {
				t.Run(server.name+suffix, func(t *testing.T) { run(t, server.start(t), buckets) })
			}
		}
	}
}

// Client returns a client of a server. It ends with the test.
func Client(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	o := connection.DefaultOptions()
	o.Addrs, o.Timeout = []string{addr}, 30*time.Second // a crowded machine takes its time
	return Connect(t, o)
}

// Config returns a configuration whose namespace no other test uses.
func Config(p indextest.Params) keyspace.Config {
	cfg := keyspace.DefaultConfig()
	cfg.Namespace = fmt.Sprintf("test-%x", time.Now().UnixNano())
	cfg.Window, cfg.Slices, cfg.Search, cfg.Policy = p.Window, p.Slices, p.Search(), p.Policy
	return cfg
}

// Kinds are the values of redis.buckets, by the suffix of the names of tests that run with each of them.
var Kinds = map[string]string{"": keyspace.BucketsPacked, "Sets": keyspace.BucketsSets}

// KindConfig is Config with a value of redis.buckets.
func KindConfig(p indextest.Params, buckets string) keyspace.Config {
	cfg := Config(p)
	cfg.Buckets = buckets
	return cfg
}

// Standard are parameters that suit most tests.
var Standard = indextest.Params{Window: time.Hour, Slices: 2, MaxDistance: 3}

// Article makes article number n, at a fixed time.
func Article(n int, fp simhash.Fingerprint) article.Article {
	c := article.Article{
		Coordinates: article.Coordinates{Topic: "t", Offset: int64(n)}, ID: fmt.Sprint(n),
		Time: time.UnixMilli(1_700_000_000_000), Fingerprint: fp,
	}
	copy(c.Digest[:], fmt.Sprint(n))
	return c
}

// Distributed are the set-ups with more than one server. Each start returns how to reach it.
var Distributed = []struct {
	Name  string
	Start func(t testing.TB) connection.Options
}{
	{"Cluster", func(t testing.TB) connection.Options { return ClusterOptions(redisserver.StartCluster(t, 3, 1)) }},
	{"Sentinel", func(t testing.TB) connection.Options { return SentinelOptions(redisserver.StartSentinel(t)) }},
}

// ClusterOptions say how to reach a cluster.
func ClusterOptions(c *redisserver.Cluster) connection.Options {
	o := connection.DefaultOptions()
	o.Addrs, o.Cluster = c.Addrs(), true
	return o
}

// SentinelOptions say how to reach the master behind sentinels.
func SentinelOptions(c *redisserver.Sentinel) connection.Options {
	o := connection.DefaultOptions()
	o.Addrs, o.MasterName = c.Addrs(), redisserver.MasterName
	return o
}

// Crowded gives the servers the time that they need on a crowded machine. It is for tests in which no server
// fails, and which do not try again.
func Crowded(o connection.Options) connection.Options {
	o.Timeout, o.WaitTimeout = time.Minute, 30*time.Second
	return o
}

// Connect returns a client for the options. It ends with the test.
func Connect(t testing.TB, o connection.Options) redis.UniversalClient {
	t.Helper()
	client, err := connection.Connect(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// NoHook implements the methods of redis.Hook that the tests do not need.
type NoHook struct{}

// DialHook implements redis.Hook.
func (NoHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (NoHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// Flush deletes all keys of a server.
func Flush(t testing.TB, client redis.UniversalClient) {
	require.NoError(t, client.FlushAll(t.Context()).Err())
}

// SetRules gives the user "sieve" the rights of an ACL rule, without one command.
func SetRules(t testing.TB, admin redis.UniversalClient, rule, without string) {
	t.Helper()
	rules := []any{"ACL", "SETUSER", "sieve", "reset", "on", ">pass"}
	for part := range strings.FieldsSeq(rule) {
		if part != "+"+without {
			rules = append(rules, part)
		}
	}
	require.NoError(t, admin.Do(t.Context(), rules...).Err())
}

// ConnectAs returns a client of the user "sieve".
func ConnectAs(t testing.TB, addr string, change func(*connection.Options)) redis.UniversalClient {
	t.Helper()
	o := connection.DefaultOptions()
	o.Addrs, o.Username, o.Password = []string{addr}, "sieve", "pass"
	change(&o)
	return Connect(t, o)
}
