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

	"echosieve/test/redisserver"
	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// replicated is a master with a replica that can replace it: the servers that Sentinel watches, or the part
// of a cluster that serves one slot.
type replicated interface {
	Master(ctx context.Context) (*redisserver.Server, error)
	// CutReplication disconnects the replica from the master until mend is called.
	CutReplication(ctx context.Context) (mend func(context.Context) error, err error)
	WaitReady(ctx context.Context) error
}

// pickReplicated draws a master and its replica. In a cluster every master has keys in use, because the names
// of the keys spread over all slots.
func pickReplicated(r *rig.Round, random *rand.Rand) replicated {
	slot := random.IntN(slots)
	if r.Cluster != nil {
		return shard{r.Cluster, slot}
	}
	return r.Sentinel
}

// removal takes a master away and says how. giveBack undoes that; it is called when the replica has become the master.
type removal func(ctx context.Context, r *rig.Round, random *rand.Rand, servers replicated,
	master *redisserver.Server) (proof string, giveBack func() error, err error)

// failover returns a fault in which the replica becomes the master. The former master then comes back as a
// replica, so that the next fault finds all servers complete.
func failover(remove removal) injector {
	return func(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
		servers, d := pickReplicated(r, random), between(random, 500*time.Millisecond, 3*time.Second)
		return r.Disturb(ctx, "redis", func() (string, error) {
			limited, cancel := context.WithTimeout(ctx, rig.ReadyTimeout)
			defer cancel()
			before, err := servers.Master(limited)
			if err != nil {
				return "", err
			}
			start := time.Now()
			how, giveBack, err := remove(limited, r, random, servers, before)
			if err != nil {
				return "", err
			}
			after, err := replaced(limited, servers, before)
			took := time.Since(start)
			if err == nil {
				err = process.Pause(ctx, d)
			}
			if err := errors.Join(err, giveBack(), servers.WaitReady(limited)); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s was the master, %s; %.1fs later %s was", before.Addr, how, took.Seconds(),
				after.Addr), nil
		})
	}
}

// replaced waits until another server is the master.
func replaced(ctx context.Context, servers replicated, former *redisserver.Server) (now *redisserver.Server,
	err error) {
	err = process.Until(ctx, rig.ReadyTimeout, 50*time.Millisecond, func() error {
		if now, err = servers.Master(ctx); err == nil && now == former {
			err = fmt.Errorf("%s is still the master", former.Addr)
		}
		return err
	})
	return now, err
}

// killMaster kills the master. The sentinels, or the other masters of the cluster, notice that and promote the replica.
func killMaster(_ context.Context, _ *rig.Round, _ *rand.Rand, _ replicated, master *redisserver.Server) (string,
	func() error, error) {
	master.Kill()
	return "killed", func() error {
		master.Restart()
		return nil
	}, nil
}

// killMasterAhead kills the master while the replica lacks its last writes, which are then lost for certain.
// A service with redis.wait_replicas must not rely on those writes.
func killMasterAhead(ctx context.Context, r *rig.Round, random *rand.Rand, servers replicated,
	master *redisserver.Server) (string, func() error, error) {
	mend, err := servers.CutReplication(ctx)
	if err != nil {
		return "", nil, err
	}
	before, err := written(ctx, master)
	ahead := 0
	// while Kafka is away, the service writes nothing
	for cut := between(random, 300*time.Millisecond, 1500*time.Millisecond); err == nil && ahead == 0; {
		if err = process.Pause(ctx, cut); err == nil {
			ahead, err = written(ctx, master)
			ahead -= before
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, mend(ctx))
	}
	how, restart, err := killMaster(ctx, r, random, servers, master)
	return fmt.Sprintf("%s %d bytes ahead of its replica", how, ahead), func() error {
		err := mend(ctx)
		return errors.Join(err, restart())
	}, err
}

// written is the number of bytes that a master has written into its replication stream.
func written(ctx context.Context, master *redisserver.Server) (int, error) {
	info, err := master.Client.InfoMap(ctx, "replication").Result()
	if err != nil {
		return 0, err
	}
	var n int
	_, err = fmt.Sscan(info["Replication"]["master_repl_offset"], &n)
	return n, err
}

// cutMaster cuts the network before the master until it is replaced. The master goes on running and executes
// the commands that it already has.
func cutMaster(ctx context.Context, r *rig.Round, random *rand.Rand, servers replicated, master *redisserver.Server) (
	string, func() error, error) {
	n, err := r.RedisNet.To(master.Addr)
	if err != nil {
		return "", nil, err
	}
	how, err := n.Cut(ctx, "redis", rig.Directions[random.IntN(2)])
	if part, ok := servers.(shard); ok && err == nil {
		// The master still speaks to the other nodes, so that they do not replace it. An operator must.
		err = part.Promote(ctx, part.slot)
	}
	if err != nil {
		n.RemoveToxics(ctx)
	}
	return "cut off " + how, func() error {
		n.RemoveToxics(ctx)
		return nil
	}, err
}

// slots is the number of hash slots of every cluster.
const slots = 16384

// shard is the master of a slot and its replica.
type shard struct {
	*redisserver.Cluster
	slot int
}

// Master implements replicated.
func (s shard) Master(ctx context.Context) (*redisserver.Server, error) { return s.Owner(ctx, s.slot) }

// CutReplication implements replicated.
func (s shard) CutReplication(ctx context.Context) (func(context.Context) error, error) {
	return s.Cluster.CutReplication(ctx, s.slot)
}

// stallRedis stops the Redis process without closing a connection. Redis gets no request meanwhile, but
// executes some of them later.
func stallRedis(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	pid := r.RedisServer.Pid()
	return r.Outage(ctx, "redis", between(random, 4*time.Second, 7*time.Second), func() (string, error) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return "", err
		}
		if rig.Probe(ctx, "redis", r.RedisServer.Addr, time.Second) == nil {
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
		return rig.CheckRefused(ctx, r.RedisNet.Past(s.Addr))
	}, func() error {
		s.Restart()
		return process.Until(ctx, rig.ReadyTimeout, 20*time.Millisecond, func() error { // former connections fail first
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
