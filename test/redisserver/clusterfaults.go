package redisserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CutReplication disconnects the replicas of the slot's master until mend is called. Data that is written
// meanwhile is lost if the master is killed. Call mend even then, because a replica may become a master with
// replicas of its own.
func (c *Cluster) CutReplication(ctx context.Context, slot int) (mend func(context.Context) error, err error) {
	master, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	replicas, err := c.Replicas(ctx, slot)
	if err != nil {
		return nil, err
	}
	return cutReplication(ctx, master, replicas)
}

// Promote makes a replica of the slot's master the master without asking it, and waits until all nodes agree. Data that
// the replica did not have yet is lost.
func (c *Cluster) Promote(ctx context.Context, slot int) error {
	former, err := c.Owner(ctx, slot)
	if err != nil {
		return err
	}
	replicas, err := c.Replicas(ctx, slot)
	if err != nil {
		return err
	}
	if len(replicas) == 0 {
		return fmt.Errorf("redisserver: the master of slot %d has no replica", slot)
	}
	for {
		if err := replicas[0].Client.Do(ctx, "CLUSTER", "FAILOVER", "FORCE").Err(); err != nil {
			return fmt.Errorf("redisserver: promote %s: %w", replicas[0].Addr, err)
		}
		// A replica gives up after five seconds, for instance if too few masters voted in time. Then it must
		// be told again.
		attempt, cancel := context.WithTimeout(ctx, 8*time.Second)
		err := poll(attempt, "a promotion", func() error {
			s, err := c.Owner(ctx, slot)
			if err == nil && s == former {
				err = fmt.Errorf("%s still owns slot %d", s.Addr, slot)
			}
			return err
		})
		cancel()
		if err == nil {
			return c.WaitReady(ctx)
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

// Errors returns how often the running nodes have replied with an error of each kind ("MOVED", "ASK",
// "READONLY", "CROSSSLOT", ...) since their start: it proves that clients met a fault.
func (c *Cluster) Errors(ctx context.Context) (map[string]int, error) {
	seen := map[string]int{}
	for _, s := range running(c.Servers) {
		info, err := s.Client.Info(ctx, "errorstats").Result()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(info) {
			if kind, rest, ok := strings.Cut(strings.TrimPrefix(line, "errorstat_"), ":count="); ok {
				var n int
				if _, err := fmt.Sscan(rest, &n); err != nil {
					return nil, fmt.Errorf("redisserver: %q: %w", line, err)
				}
				seen[kind] += n
			}
		}
	}
	return seen, nil
}

// cutReplication gives the replicas a wrong password and closes their connections.
func cutReplication(ctx context.Context, master *Server, replicas []*Server) (mend func(context.Context) error,
	err error) {
	if len(replicas) == 0 {
		return nil, fmt.Errorf("redisserver: %s has no replica", master.Addr)
	}
	var right string
	for _, r := range replicas {
		settings, err := r.Client.ConfigGet(ctx, "masterauth").Result()
		if err != nil {
			return nil, err
		}
		right = settings["masterauth"]
		if err := r.Client.ConfigSet(ctx, "masterauth", "wrong").Err(); err != nil {
			return nil, err
		}
	}
	mend = func(ctx context.Context) error {
		var errs []error
		for _, r := range replicas {
			errs = append(errs, r.Client.ConfigSet(ctx, "masterauth", right).Err())
		}
		return errors.Join(errs...)
	}
	return mend, poll(ctx, "the replicas to be cut off", func() error {
		if err := master.Client.ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
			return err
		}
		info, err := master.Client.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "connected_slaves:0") {
			err = errors.New("a replica is still connected")
		}
		return err
	})
}
