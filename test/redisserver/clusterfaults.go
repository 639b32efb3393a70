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

// KillMaster kills the master of the slot and returns it. The cluster promotes a replica after about three
// seconds: see WaitPromotion. Restart then brings the server back as a replica. A server that is restarted
// before the promotion comes back as an empty master, and its part of the data is lost.
func (c *Cluster) KillMaster(ctx context.Context, slot int) (*Server, error) {
	s, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	s.Kill()
	return s, nil
}

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
	clients := make([]*redis.Client, len(replicas))
	for i, s := range replicas {
		clients[i] = c.clients[s]
	}
	return cutReplication(ctx, c.clients[master], clients)
}

// waitOwner waits until a server other than the former master serves the slot.
func (c *Cluster) waitOwner(ctx context.Context, slot int, former *Server) error {
	return poll(ctx, "a promotion", func() error {
		s, err := c.Owner(ctx, slot)
		if err == nil && s == former {
			err = fmt.Errorf("%s still owns slot %d", s.Addr, slot)
		}
		return err
	})
}

// Promote makes a replica of the slot's master the master, waits until all nodes agree, and returns the
// former master. If how is empty, the master refuses writes until the replica has all data, and nothing is
// lost. With "FORCE" the replica does not ask the master, with "TAKEOVER" it asks no other master either:
// data that the replica did not have yet is lost.
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
		// A replica gives up after five seconds, for instance if too few masters voted in time. Then it must
		// be told again.
		attempt, cancel := context.WithTimeout(ctx, 8*time.Second)
		err := c.waitOwner(attempt, slot, former)
		cancel()
		if err == nil {
			return former, c.WaitReady(ctx)
		}
		if ctx.Err() != nil {
			return former, err
		}
	}
}

// Errors returns how often the running nodes have replied with an error of each kind ("MOVED", "ASK",
// "READONLY", "CROSSSLOT", ...) since their start: it proves that clients met a fault.
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
func cutReplication(ctx context.Context, master *redis.Client, replicas []*redis.Client) (
	mend func(context.Context) error, err error) {
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

// MigrateSlots moves the slots to the master to, as redis-cli --cluster reshard does, and returns the number
// of moved keys. Half of the keys move first. After the pause, in which clients get ASK as a reply, the other
// half follows, and clients get MOVED. Slots that the master to serves already stay as they are.
func (c *Cluster) MigrateSlots(ctx context.Context, slots []int, to *Server, pause time.Duration) (keys int,
	err error) {
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

// move is the move of one slot.
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

// rest moves the other keys, also those that are written meanwhile, and hands the slot over. The new master
// is told first. If the former master were told first, nobody would serve the slot in between.
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
	for _, s := range m.c.Servers { // all other masters, too: they need not wait for gossip
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
