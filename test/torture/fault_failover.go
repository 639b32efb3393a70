package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/test/redisserver"
)

var failoverFaults = map[string]fault{
	"redis-failover":      {ofRedis, failover(byCommand)},
	"redis-master-kill":   {ofRedis, failover(killMaster)},
	"redis-master-behind": {ofRedis, failover(killMasterAhead)},
	"redis-master-frozen": {ofRedis, failover(freezeMaster)},
	"redis-master-cut":    {ofRedis, failover(cutMaster)},
	"redis-readonly":      {ofRedis, injectReadOnly},
	"redis-slots":         {ofRedis, injectSlots},
}

// replicated is a master with a replica that can take its place: all that Sentinel watches, or the part of a cluster
// that serves one slot.
type replicated interface {
	Master(ctx context.Context) (*redisserver.Server, error)
	Client(s *redisserver.Server) *redis.Client
	Failover(ctx context.Context) (former *redisserver.Server, err error)
	CutReplication(ctx context.Context) (mend func(context.Context) error, err error)
	WaitReady(ctx context.Context) error
}

// replicated returns a master and its replica. In a cluster each master has keys in use: their names spread over all.
func (w *world) replicated(random *rand.Rand) replicated {
	slot := random.IntN(slots)
	if w.cluster != nil {
		return shard{w.cluster, slot}
	}
	return w.sentinel
}

// taking takes a master away. It says how, and gives back what it took when the replica has become the master.
type taking func(ctx context.Context, r *round, random *rand.Rand, servers replicated, master *redisserver.Server) (proof string, giveBack func() error, err error)

// failover is a fault in which another server becomes the master. Then the former one comes back as a replica, so that
// the next fault finds everything whole.
func failover(take taking) func(context.Context, *round, *rand.Rand, time.Duration) (string, error) {
	return func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (string, error) {
		servers, d := r.w.replicated(random), atLeast(d, random, 500*time.Millisecond, 3*time.Second)
		if r.w.o.waitReplicas == 0 {
			r.destroy()
		}
		return r.disturb(ctx, "redis", func([]witness) (string, error) {
			limited, cancel := context.WithTimeout(ctx, readyTimeout)
			defer cancel()
			before, err := servers.Master(limited)
			if err != nil {
				return "", err
			}
			start := time.Now()
			how, giveBack, err := take(limited, r, random, servers, before)
			if err != nil {
				return "", err
			}
			after, err := replaced(limited, servers, before)
			took := time.Since(start)
			if err == nil {
				err = pause(ctx, d)
			}
			if err := errors.Join(err, giveBack(), servers.WaitReady(limited)); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s was the master, %s; %.1fs later %s was", before.Addr, how, took.Seconds(), after.Addr), nil
		})
	}
}

// replaced waits until another server is the master.
func replaced(ctx context.Context, servers replicated, former *redisserver.Server) (*redisserver.Server, error) {
	for {
		now, err := servers.Master(ctx)
		if err == nil && now != former {
			return now, nil
		}
		if e := pause(ctx, 50*time.Millisecond); e != nil {
			return nil, fmt.Errorf("%s is still the master: %w", former.Addr, errors.Join(e, err))
		}
	}
}

func nothing() error { return nil }

// byCommand changes the roles as an operator does.
func byCommand(ctx context.Context, _ *round, _ *rand.Rand, servers replicated, _ *redisserver.Server) (string, func() error, error) {
	_, err := servers.Failover(ctx)
	return "replaced by command", nothing, err
}

// killMaster kills it. Whoever watches it notices and promotes the replica.
func killMaster(_ context.Context, _ *round, _ *rand.Rand, _ replicated, master *redisserver.Server) (string, func() error, error) {
	master.Kill()
	return "killed", func() error {
		master.Restart()
		return nil
	}, nil
}

// killMasterAhead kills it when the replica lacks its last writes, which are lost for certain then. Nobody may rely on
// them who waits for replicas.
func killMasterAhead(ctx context.Context, r *round, random *rand.Rand, servers replicated, master *redisserver.Server) (string, func() error, error) {
	mend, err := servers.CutReplication(ctx)
	if err != nil {
		return "", nil, err
	}
	before, err := written(ctx, servers.Client(master))
	ahead := 0
	for cut := between(random, 300*time.Millisecond, 1500*time.Millisecond); err == nil && ahead == 0; { // while Kafka is away, nobody writes
		if err = pause(ctx, cut); err == nil {
			ahead, err = written(ctx, servers.Client(master))
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

// written is the number of bytes that a master has written for its replicas.
func written(ctx context.Context, master *redis.Client) (int, error) {
	info, err := master.InfoMap(ctx, "replication").Result()
	if err != nil {
		return 0, err
	}
	var n int
	_, err = fmt.Sscan(info["Replication"]["master_repl_offset"], &n)
	return n, err
}

// freezeMaster stops it until it was replaced. Then it goes on, for a moment with the belief that it is the master.
func freezeMaster(ctx context.Context, _ *round, _ *rand.Rand, servers replicated, master *redisserver.Server) (string, func() error, error) {
	pid := master.Pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return "", nil, err
	}
	goOn := func() error { return syscall.Kill(pid, syscall.SIGCONT) }
	if servers.Client(master).Ping(ctx).Err() == nil {
		return "", nil, errors.Join(errors.New("a PING was answered"), goOn())
	}
	return "frozen", goOn, nil
}

// cutMaster cuts the network before it until it was replaced. It runs, and still has what it was asked to do.
func cutMaster(ctx context.Context, r *round, random *rand.Rand, servers replicated, master *redisserver.Server) (string, func() error, error) {
	n, err := r.w.redisNet.to(master.Addr)
	if err != nil {
		return "", nil, err
	}
	how, err := n.sever(ctx, "redis", directions[random.IntN(2)])
	if part, ok := servers.(shard); ok && err == nil {
		// It still speaks to the other nodes, which see no reason to replace it: that is up to the operator.
		_, err = part.Promote(ctx, part.slot, "FORCE")
	}
	if err != nil {
		n.heal(ctx)
	}
	return "cut off " + how, func() error {
		n.heal(ctx)
		return nil
	}, err
}
