package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// KillMaster ends the master of the slot at once, as a crash would, and returns it. With a replica, the cluster
// promotes that one after about three seconds: WaitPromotion. Restart brings the server back as a replica; restarted
// before the promotion it would come back as an empty master, and its part of the data would be lost.
func (c *Cluster) KillMaster(ctx context.Context, slot int) (*Server, error) {
	s, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	s.Kill()
	return s, nil
}

// CutReplication keeps the replicas of the slot's master away from it until mend is called: what is written meanwhile
// is lost if the master is killed. Call mend in any case, for the replica may become a master with replicas.
func (c *Cluster) CutReplication(ctx context.Context, slot int) (mend func(context.Context) error, err error) {
	master, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	replicas, err := c.Replicas(ctx, slot)
	if err != nil {
		return nil, err
	}
	clients := make([]*redis.Client, len(replicas))
	for i, s := range replicas {
		clients[i] = c.clients[s]
	}
	return cutReplication(ctx, c.clients[master], clients)
}

// WaitPromotion waits until a server other than the former master serves the slot and the cluster is ready.
func (c *Cluster) WaitPromotion(ctx context.Context, slot int, former *Server) error {
	err := poll(ctx, "a promotion", func() error {
		s, err := c.Owner(ctx, slot)
		if err == nil && s == former {
			err = fmt.Errorf("%s still owns slot %d", s.Addr, slot)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.WaitReady(ctx)
}

// Promote makes a replica of the slot's master the master, and waits until all nodes agree. In good order (how is
// "") the master stops writing until the replica has everything, so nothing is lost; "FORCE" does not ask the
// master, "TAKEOVER" nobody at all: what the replica had not received yet is lost. It returns the former master.
func (c *Cluster) Promote(ctx context.Context, slot int, how string) (*Server, error) {
	former, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	replicas, err := c.Replicas(ctx, slot)
	if err != nil {
		return nil, err
	}
	if len(replicas) == 0 {
		return nil, fmt.Errorf("redisserver: the master of slot %d has no replica", slot)
	}
	command := []any{"CLUSTER", "FAILOVER"}
	if how != "" {
		command = append(command, how)
	}
	for {
		if err := c.clients[replicas[0]].Do(ctx, command...).Err(); err != nil {
			return nil, fmt.Errorf("redisserver: promote %s: %w", replicas[0].Addr, err)
		}
		// Servers give up after five seconds, for instance because too few masters voted in time.
		attempt, cancel := context.WithTimeout(ctx, 8*time.Second)
		err := c.WaitPromotion(attempt, slot, former)
		cancel()
		if err == nil || ctx.Err() != nil {
			return former, err
		}
	}
}

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
	ranges, err := c.clients[master].ClusterSlots(ctx).Result()
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

// Errors returns how often the running nodes answered an error of each kind ("MOVED", "ASK", "READONLY",
// "CROSSSLOT", ...) since they were started: the proof that a fault was met.
func (c *Cluster) Errors(ctx context.Context) (map[string]int, error) {
	seen := map[string]int{}
	for _, s := range c.Servers {
		if !s.running() {
			continue
		}
		if err := addErrors(ctx, c.clients[s], seen); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// addErrors adds the error counts of one server.
func addErrors(ctx context.Context, client *redis.Client, seen map[string]int) error {
	info, err := client.Info(ctx, "errorstats").Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(info) {
		if kind, rest, ok := strings.Cut(strings.TrimPrefix(line, "errorstat_"), ":count="); ok {
			var n int
			if _, err := fmt.Sscan(rest, &n); err != nil {
				return fmt.Errorf("redisserver: %q: %w", line, err)
			}
			seen[kind] += n
		}
	}
	return nil
}

// cutReplication gives the replicas a wrong password and closes their connections.
func cutReplication(ctx context.Context, master *redis.Client, replicas []*redis.Client) (mend func(context.Context) error, err error) {
	if len(replicas) == 0 {
		return nil, fmt.Errorf("redisserver: %s has no replica", master.Options().Addr)
	}
	var right string
	for _, r := range replicas {
		settings, err := r.ConfigGet(ctx, "masterauth").Result()
		if err != nil {
			return nil, err
		}
		right = settings["masterauth"]
		if err := r.ConfigSet(ctx, "masterauth", "wrong").Err(); err != nil {
			return nil, err
		}
	}
	mend = func(ctx context.Context) error {
		var errs []error
		for _, r := range replicas {
			errs = append(errs, r.ConfigSet(ctx, "masterauth", right).Err())
		}
		return errors.Join(errs...)
	}
	return mend, poll(ctx, "the replicas to be cut off", func() error {
		if err := master.ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
			return err
		}
		info, err := master.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "connected_slaves:0") {
			err = errors.New("a replica is still connected")
		}
		return err
	})
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
	ranges, err := m.c.clients[m.to].ClusterSlots(ctx).Result()
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
