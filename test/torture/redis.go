package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/test/redisserver"
)

// The kinds of Redis that the processes can be given.
const (
	plainRedis    = "plain"
	sentinelRedis = "sentinel"
	clusterRedis  = "cluster"
)

// startRedis starts what the options say, unless they name servers that run already, and a client for the runner.
func (w *world) startRedis() {
	front := w.front("redis", &w.redisNet)
	switch {
	case !w.o.ownRedis():
		w.redisAddrs = w.o.redisAddrs
	case w.o.redis == clusterRedis:
		w.cluster = redisserver.StartClusterBehind(w.host, front, 3, 1)
		w.redisAddrs = w.cluster.Addrs()
	case w.o.redis == sentinelRedis:
		w.sentinel = redisserver.StartSentinelBehind(w.host, front)
		w.redisAddrs = w.sentinel.Addrs()
	default:
		w.redisServer = redisserver.StartBehind(w.host, front, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
		w.redisAddrs = []string{w.redisServer.Addr}
	}
	dialer := net.Dialer{Timeout: time.Second}
	o := &redis.UniversalOptions{
		Addrs: w.redisAddrs, IsClusterMode: w.o.redis == clusterRedis,
		MaxRetries: -1, DialerRetries: 1,
		// Once so many attempts to connect have failed, in all, the client answers with earlier failures for a second.
		PoolSize:    10_000,
		ReadTimeout: readyTimeout, WriteTimeout: readyTimeout, ContextTimeoutEnabled: true, // on a busy machine a healthy server may take seconds
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, w.redisNet.past(addr))
		},
	}
	if w.o.redis == sentinelRedis {
		o.MasterName = redisserver.MasterName
	}
	w.redis = redis.NewUniversalClient(o)
	w.host.Cleanup(func() { _ = w.redis.Close() })
}

// redisFlags tell a service process where Redis is.
func (w *world) redisFlags() []string {
	flags := []string{"--redis.timeout", "1s"}
	for _, addr := range w.redisAddrs {
		flags = append(flags, "--redis.addrs", addr)
	}
	switch w.o.redis {
	case clusterRedis:
		flags = append(flags, "--redis.cluster")
	case sentinelRedis:
		flags = append(flags, "--redis.master_name", redisserver.MasterName)
	default:
		return flags
	}
	return append(flags, "--redis.wait_replicas", fmt.Sprint(w.o.waitReplicas), "--redis.wait_timeout", "500ms")
}

// eachMaster calls do with every server that takes writes, one after another.
func (w *world) eachMaster(ctx context.Context, do func(*redis.Client) error) error {
	cluster, ok := w.redis.(*redis.ClusterClient)
	if !ok {
		return do(w.redis.(*redis.Client))
	}
	var one sync.Mutex
	return cluster.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		return do(master)
	})
}
