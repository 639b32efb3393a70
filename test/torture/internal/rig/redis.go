package rig

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/test/redisserver"
)

// The kinds of Redis that a run can have.
const (
	PlainRedis    = "plain"    // one server
	SentinelRedis = "sentinel" // a master and a replica under three sentinels
	ClusterRedis  = "cluster"  // three masters with a replica each
)

// startRedis starts the servers that the options ask for, and a client for the runner.
func (g *Rig) startRedis() {
	front := g.RedisNet.Front(g.Host, "redis")
	switch g.RedisKind {
	case ClusterRedis:
		g.Cluster = redisserver.StartClusterBehind(g.Host, front, 3, 1)
		g.redisAddrs = g.Cluster.Addrs()
	case SentinelRedis:
		g.Sentinel = redisserver.StartSentinelBehind(g.Host, front)
		g.redisAddrs = g.Sentinel.Addrs()
	default:
		g.RedisServer = redisserver.StartBehind(g.Host, front, "--appendonly", "yes", "--appendfsync", "always",
			"--maxmemory-policy", "noeviction")
		g.redisAddrs = []string{g.RedisServer.Addr}
	}
	dialer := net.Dialer{Timeout: time.Second}
	o := &redis.UniversalOptions{
		Addrs: g.redisAddrs, IsClusterMode: g.RedisKind == ClusterRedis,
		MaxRetries: -1, DialerRetries: 1,
		// go-redis 9 answers with earlier failures for a second once as many attempts to connect have failed
		// as the pool has places: a large pool keeps it trying.
		PoolSize: 10_000,
		// On a busy machine a healthy server may take seconds to answer.
		ReadTimeout: ReadyTimeout, WriteTimeout: ReadyTimeout, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, g.RedisNet.Past(addr))
		},
	}
	if g.RedisKind == SentinelRedis {
		o.MasterName = redisserver.MasterName
	}
	g.RedisClient = redis.NewUniversalClient(o)
	g.Host.Cleanup(func() { _ = g.RedisClient.Close() })
}

// redisFlags are the arguments that tell a service process where Redis is.
func (g *Rig) redisFlags() []string {
	flags := []string{"--redis.timeout", "1s"}
	for _, addr := range g.redisAddrs {
		flags = append(flags, "--redis.addrs", addr)
	}
	switch g.RedisKind {
	case ClusterRedis:
		flags = append(flags, "--redis.cluster")
	case SentinelRedis:
		flags = append(flags, "--redis.master_name", redisserver.MasterName)
	default:
		return flags
	}
	return append(flags, "--redis.wait_replicas", "1", "--redis.wait_timeout", "500ms")
}

// EachMaster calls do for each server that accepts writes, one after another.
func (g *Rig) EachMaster(ctx context.Context, do func(*redis.Client) error) error {
	cluster, ok := g.RedisClient.(*redis.ClusterClient)
	if !ok {
		return do(g.RedisClient.(*redis.Client))
	}
	var one sync.Mutex
	return cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		return do(master)
	})
}

// silent discards the messages that go-redis writes by itself about servers that are away.
type silent struct{}

// Printf implements the logger of go-redis.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }
