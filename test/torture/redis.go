package main

import (
	"context"
	"fmt"
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
func (w *world) startRedis() (err error) {
	switch {
	case !w.o.ownRedis():
		w.redisAddrs = w.o.redisAddrs
	case w.o.redis == clusterRedis:
		w.cluster = redisserver.StartCluster(w.host, 3, 1)
		w.redisAddrs = w.cluster.Addrs()
	case w.o.redis == sentinelRedis:
		w.sentinel = redisserver.StartSentinel(w.host)
		w.redisAddrs = w.sentinel.Addrs()
	default:
		w.redisServer = redisserver.Start(w.host, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
		w.redisAddrs = []string{w.redisServer.Addr}
		if !w.direct() {
			if w.redisLink, err = startLink(w.host, "redis", w.redisServer.Addr); err != nil {
				return err
			}
		}
	}
	o := &redis.UniversalOptions{
		Addrs: w.redisAddrs, IsClusterMode: w.o.redis == clusterRedis,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, // on a busy machine a healthy server may take seconds
		ReadTimeout: readyTimeout, WriteTimeout: readyTimeout, ContextTimeoutEnabled: true,
	}
	if w.o.redis == sentinelRedis {
		o.MasterName = redisserver.MasterName
	}
	w.redis = redis.NewUniversalClient(o)
	w.host.Cleanup(func() { _ = w.redis.Close() })
	return nil
}

// redisFlags tell a service process where Redis is.
func (w *world) redisFlags() []string {
	addrs := w.redisAddrs
	if w.redisLink != nil {
		addrs = []string{w.redisLink.addr()}
	}
	flags := []string{"--redis.timeout", "1s"}
	for _, addr := range addrs {
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
