package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/test/torture/internal/network"
	"echosieve/test/torture/internal/rig"
	"echosieve/test/torture/internal/wait"
)

// stallRedis stops the Redis process without closing a connection. Redis gets no request meanwhile, but
// executes some of them later.
func stallRedis(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	pid := r.RedisServer.Pid()
	return r.Outage(ctx, "redis", between(random, 4*time.Second, 7*time.Second), func() (string, error) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return "", err
		}
		if network.Probe(ctx, "redis", r.RedisServer.Addr, time.Second) == nil {
			return "", errors.New("a PING was answered")
		}
		return "a PING timed out", nil
	}, func() error { return syscall.Kill(pid, syscall.SIGCONT) })
}

// restartRedis kills Redis and starts it again with the data of its append-only file.
func restartRedis(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	s := r.RedisServer
	keys, err := r.RedisClient.DBSize(ctx).Result()
	if err != nil {
		return "", err
	}
	return r.Outage(ctx, "redis", between(random, 3*time.Second, 6*time.Second), func() (string, error) {
		s.Kill()
		return network.CheckRefused(ctx, r.RedisNet.Past(s.Addr))
	}, func() error {
		s.Restart()
		return wait.Until(ctx, rig.ReadyTimeout, 20*time.Millisecond, func() error { // former connections fail first
			now, err := r.RedisClient.DBSize(ctx).Result()
			if err == nil && now < keys {
				err = fmt.Errorf("after its restart Redis has %d of %d keys", now, keys)
			}
			return err
		})
	})
}

// outOfMemory sets a memory limit that makes Redis refuse each command that could need memory.
func outOfMemory(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	limit := func(bytes string) error {
		return r.EachMaster(ctx,
			func(master *redis.Client) error { return master.ConfigSet(ctx, "maxmemory", bytes).Err() })
	}
	return r.Outage(ctx, "redis", between(random, 2*time.Second, 5*time.Second), func() (string, error) {
		if err := limit("1"); err != nil {
			return "", err
		}
		err := r.RedisClient.Set(ctx, "torture", "", 0).Err()
		if !redis.HasErrorPrefix(err, "OOM") && (err == nil || !strings.Contains(err.Error(), "OOM")) {
			return "", fmt.Errorf("a write was accepted: %w", err)
		}
		return "a write was refused: OOM", nil
	}, func() error { return limit("0") })
}
