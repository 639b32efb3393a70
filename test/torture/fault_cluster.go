package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"echosieve/test/redisserver"
)

// slots is the number of hash slots of every cluster.
const slots = 16384

// shard is the part of a cluster that serves a slot.
type shard struct {
	*redisserver.Cluster
	slot int
}

// Master implements replicated.
func (s shard) Master(ctx context.Context) (*redisserver.Server, error) { return s.Owner(ctx, s.slot) }

// Failover implements replicated.
func (s shard) Failover(ctx context.Context) (*redisserver.Server, error) {
	return s.Promote(ctx, s.slot, "")
}

// CutReplication implements replicated.
func (s shard) CutReplication(ctx context.Context) (func(context.Context) error, error) {
	return s.Cluster.CutReplication(ctx, s.slot)
}

// injectSlots moves slots that hold keys in use, slowly, from master to master. The ticket counter's is among them:
// every batch asks for it.
func injectSlots(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	return r.disturb(ctx, "redis", func([]witness) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		c := r.w.cluster
		before, err := c.Errors(ctx)
		if err != nil {
			return "", err
		}
		counter, err := r.counterSlot(ctx)
		if err != nil {
			return "", err
		}
		for moved := 0; ; {
			keys, err := moveSlots(ctx, c, counter, random)
			if err != nil {
				return "", err
			}
			moved += keys
			after, err := c.Errors(ctx)
			if err != nil {
				return "", err
			}
			// Once more while nobody asks for anything, because Kafka is away.
			if ask, next := after["ASK"]-before["ASK"], after["MOVED"]-before["MOVED"]; ask > 0 && next > 0 {
				return fmt.Sprintf("%d keys moved; %d times ASK, %d times MOVED were answered", moved, ask, next), nil
			}
		}
	})
}

// moveSlots moves a slot, and 50 with keys beside it, to another master. It returns the number of keys.
func moveSlots(ctx context.Context, c *redisserver.Cluster, slot int, random *rand.Rand) (int, error) {
	from, err := c.Owner(ctx, slot)
	if err != nil {
		return 0, err
	}
	to := from
	for to == from && err == nil {
		to, err = c.Owner(ctx, random.IntN(slots))
	}
	if err != nil {
		return 0, err
	}
	busy, err := c.SlotsWithKeys(ctx, from, 50)
	if err != nil {
		return 0, err
	}
	return c.MigrateSlots(ctx, append(busy, slot), to, between(random, 500*time.Millisecond, 2*time.Second))
}

// counterSlot is the slot of the round's ticket counter.
func (r *round) counterSlot(ctx context.Context) (int, error) {
	for {
		for _, s := range r.w.cluster.Servers {
			keys, err := r.w.cluster.Client(s).Keys(ctx, r.topic+":*:seq").Result()
			if err != nil {
				return 0, err
			}
			if len(keys) > 0 {
				slot, err := r.w.redis.ClusterKeySlot(ctx, keys[0]).Result()
				return int(slot), err
			}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, fmt.Errorf("there is no ticket counter: %w", err)
		}
	}
}
