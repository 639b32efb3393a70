package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

var redisFaults = map[string]fault{
	"redis-stall":         {ofRedis, injectRedisStall},
	"redis-restart":       {ofRedis, injectRedisRestart},
	"redis-reset":         {ofRedis, injectRedisReset},
	"redis-script-flush":  {ofRedis, injectScriptFlush},
	"redis-out-of-memory": {ofRedis, injectOutOfMemory},
	"redis-empty":         {ofRedis, injectRedisEmpty},
}

// injectRedisStall stops Redis without closing a connection: requests are swallowed, and some are carried out later.
func injectRedisStall(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	pid := r.w.redisServer.Pid()
	return r.outage(ctx, "redis", atLeast(d, random, 4*time.Second, 7*time.Second), func() (string, error) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return "", err
		}
		if knock(ctx, "redis", r.w.redisServer.Addr, time.Second) == nil {
			return "", errors.New("a PING was answered")
		}
		return "a PING timed out", nil
	}, func() error { return syscall.Kill(pid, syscall.SIGCONT) })
}

// injectRedisRestart kills Redis and starts it again from its append-only file.
func injectRedisRestart(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	s := r.w.redisServer
	keys, err := r.w.redis.DBSize(ctx).Result()
	if err != nil {
		return "", err
	}
	proof, err := r.outage(ctx, "redis", atLeast(d, random, 3*time.Second, 6*time.Second), func() (string, error) {
		s.Kill()
		return refused(ctx, r.w.redisNet.past(s.Addr))
	}, func() error {
		s.Restart()
		now, err := r.w.redis.DBSize(ctx).Result()
		for try := 0; err != nil && try < 3; try++ { // connections from before
			now, err = r.w.redis.DBSize(ctx).Result()
		}
		if err != nil || now < keys {
			return fmt.Errorf("redis came back with %d of %d keys: %w", now, keys, err)
		}
		return nil
	})
	return proof, err
}

// injectRedisEmpty kills Redis and takes its data away.
func injectRedisEmpty(ctx context.Context, r *round, _ *rand.Rand, _ time.Duration) (string, error) {
	keys, err := r.w.redis.DBSize(ctx).Result()
	if err != nil {
		return "", err
	}
	r.destroy()
	if err := r.w.redis.FlushAll(ctx).Err(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d keys are gone", keys), nil
}

// injectRedisReset closes all connections, several times, in the middle of whatever they carry.
func injectRedisReset(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	var closed int64
	end := time.Now().Add(readyTimeout)
	for i := 0; i < 5 || closed == 0 && time.Now().Before(end); i++ {
		err := r.w.eachMaster(ctx, func(master *redis.Client) error {
			n, err := master.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Result()
			closed += n
			return err
		})
		if err != nil {
			return "", err
		}
		if err := pause(ctx, between(random, 50*time.Millisecond, 300*time.Millisecond)); err != nil {
			return "", err
		}
	}
	if closed == 0 {
		return "", errors.New("there was no connection to close")
	}
	return fmt.Sprintf("%d connections closed", closed), nil
}

var cachedScripts = regexp.MustCompile(`number_of_cached_scripts:(\d+)`)

// injectScriptFlush makes Redis forget the scripts, on every master at the same time.
func injectScriptFlush(ctx context.Context, r *round, _ *rand.Rand, _ time.Duration) (string, error) {
	known := 0
	// After a restart Redis knows none before the next batch comes.
	for end := time.Now().Add(readyTimeout); known == 0; {
		err := r.w.eachMaster(ctx, func(master *redis.Client) error {
			info, err := master.Info(ctx, "memory").Result()
			if m := cachedScripts.FindStringSubmatch(info); m != nil {
				n, _ := strconv.Atoi(m[1])
				known += n
			}
			return err
		})
		if err != nil {
			return "", err
		}
		if time.Now().After(end) {
			return "", errors.New("there was no script to forget")
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return "", err
		}
	}
	if err := r.w.eachMaster(ctx, func(master *redis.Client) error { return master.ScriptFlush(ctx).Err() }); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d scripts forgotten", known), nil
}

// injectOutOfMemory makes Redis refuse everything that could need memory.
func injectOutOfMemory(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
	limit := func(bytes string) error {
		return r.w.eachMaster(ctx, func(master *redis.Client) error { return master.ConfigSet(ctx, "maxmemory", bytes).Err() })
	}
	return r.outage(ctx, "redis", atLeast(d, random, 2*time.Second, 5*time.Second), func() (string, error) {
		if err := limit("1"); err != nil {
			return "", err
		}
		err := r.w.redis.Set(ctx, "torture", "", 0).Err()
		if !redis.HasErrorPrefix(err, "OOM") && (err == nil || !strings.Contains(err.Error(), "OOM")) {
			return "", fmt.Errorf("a write was not refused: %w", err)
		}
		return "a write was refused: OOM", nil
	}, func() error { return limit("0") })
}
