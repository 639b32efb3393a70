package redisserver

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// MigrateSlots moves the slots to the master to, as an operator's reshard does, and returns the number of keys moved.
// All slots stand half-moved for the given pause (claims meet ASK), then the rest follows (claims meet MOVED).
// Slots that to serves already are left alone.
func (c *Cluster) MigrateSlots(ctx context.Context, slots []int, to *Server, pause time.Duration) (keys int, err error) {
	var moves []move
	target, err := c.clients[to].ClusterMyID(ctx).Result()
	if err != nil {
		return 0, err
	}
	for _, slot := range slices.Compact(slices.Sorted(slices.Values(slots))) {
		m := move{c: c, slot: slot, to: to, toID: target}
		if m.from, err = c.Owner(ctx, slot); err != nil {
			return 0, err
		}
		if m.from == to {
			continue
		}
		if err := m.open(ctx); err != nil {
			return keys, err
		}
		n, err := m.half(ctx)
		keys += n
		if err != nil {
			return keys, err
		}
		moves = append(moves, m)
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
	for _, m := range moves {
		n, err := m.rest(ctx)
		keys += n
		if err != nil {
			return keys, err
		}
	}
	return keys, c.WaitReady(ctx)
}

// SlotsWithKeys returns up to most slots of one master that hold keys.
func (c *Cluster) SlotsWithKeys(ctx context.Context, master *Server, most int) ([]int, error) {
	ranges, err := clusterSlots(ctx, c.clients[master])
	if err != nil {
		return nil, err
	}
	var slots []int
	for _, r := range ranges {
		for slot := r.Start; slot <= r.End && r.Nodes[0].Addr == master.Addr && len(slots) < most; slot++ {
			n, err := c.clients[master].ClusterCountKeysInSlot(ctx, slot).Result()
			if err != nil {
				return nil, err
			}
			if n > 0 {
				slots = append(slots, slot)
			}
		}
	}
	return slots, nil
}

// move is one slot on its way.
type move struct {
	c        *Cluster
	slot     int
	from, to *Server
	toID     string
}

func (m move) setSlot(ctx context.Context, s *Server, args ...any) error {
	err := m.c.clients[s].Do(ctx, append([]any{"CLUSTER", "SETSLOT", m.slot}, args...)...).Err()
	if err != nil {
		return fmt.Errorf("redisserver: setslot %d %v on %s: %w", m.slot, args, s.Addr, err)
	}
	return nil
}

func (m move) open(ctx context.Context) error {
	from, err := m.c.clients[m.from].ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	if err := m.setSlot(ctx, m.to, "IMPORTING", from); err != nil {
		return err
	}
	return m.setSlot(ctx, m.from, "MIGRATING", m.toID)
}

// half moves half of the slot's keys, at least one.
func (m move) half(ctx context.Context) (int, error) {
	n, err := m.c.clients[m.from].ClusterCountKeysInSlot(ctx, m.slot).Result()
	if err != nil {
		return 0, err
	}
	return m.keys(ctx, (int(n)+1)/2)
}

// rest moves what is left, also what came while it moved, and hands the slot over. The new owner must hear of it
// first: were it the other way round, nobody would serve the slot in between.
func (m move) rest(ctx context.Context) (moved int, err error) {
	for {
		n, err := m.keys(ctx, 100)
		moved += n
		if err != nil {
			return moved, err
		}
		if n == 0 {
			break
		}
	}
	told := []*Server{m.to, m.from}
	ranges, err := clusterSlots(ctx, m.c.clients[m.to])
	if err != nil {
		return moved, err
	}
	for _, s := range m.c.Servers { // every other master, so that no gossip is needed
		serves := slices.ContainsFunc(ranges, func(r redis.ClusterSlot) bool { return r.Nodes[0].Addr == s.Addr })
		if serves && s != m.to && s != m.from {
			told = append(told, s)
		}
	}
	for _, s := range told {
		if err := m.setSlot(ctx, s, "NODE", m.toID); err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// keys moves up to most keys of the slot.
func (m move) keys(ctx context.Context, most int) (int, error) {
	if most == 0 {
		return 0, nil
	}
	keys, err := m.c.clients[m.from].ClusterGetKeysInSlot(ctx, m.slot, most).Result()
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	host, port, err := net.SplitHostPort(m.to.Addr)
	if err != nil {
		return 0, err
	}
	args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, k := range keys {
		args = append(args, k)
	}
	if err := m.c.clients[m.from].Do(ctx, args...).Err(); err != nil {
		return 0, fmt.Errorf("redisserver: migrate %d keys of slot %d: %w", len(keys), m.slot, err)
	}
	return len(keys), nil
}
