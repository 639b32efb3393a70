package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/test/loopback"
)

// slotCount is the number of hash slots of every Redis Cluster.
const slotCount = 16384

// patience bounds each wait for a server to answer, or for a cluster or the sentinels to agree: far more than an idle machine needs.
const patience = 3 * time.Minute

// Cluster is a Redis Cluster of real servers on loopback. The test that started it stops it. The methods that
// change it (clusterfaults.go) return errors and may be called from any goroutine, but only one at a time.
type Cluster struct {
	Servers []*Server // as started: the masters, then their replicas; roles change with failovers
	clients map[*Server]*redis.Client
}

// StartCluster starts masters with an equal share of the slots and that many replicas of each, and waits until all
// of them agree and every replica is in sync. A master that does not answer for three seconds is replaced.
// extraArgs are redis-server's, for every node. Redis 7 or later is needed.
func StartCluster(t testing.TB, masters, replicas int, extraArgs ...string) *Cluster {
	t.Helper()
	return StartClusterBehind(t, nil, masters, replicas, extraArgs...)
}

// StartClusterBehind is StartCluster with a front, which gets two addresses of each node: of its port and of its port
// for the other nodes.
func StartClusterBehind(t testing.TB, f loopback.Front, masters, replicas int, extraArgs ...string) *Cluster {
	t.Helper()
	c := &Cluster{clients: map[*Server]*redis.Client{}}
	for range masters * (1 + replicas) {
		ports := loopback.Ports(t, 2)
		reached := f.Before(ports...)
		s := start(t, ports[0], reached[0], append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "3000", "--repl-diskless-sync-delay", "0",
			"--cluster-replica-validity-factor", "0", // or none is promoted once elections have failed for 40 s, on a machine that is busy
			"--cluster-port", fmt.Sprint(ports[1]),
			"--cluster-announce-port", portOf(reached[0]), "--cluster-announce-bus-port", portOf(reached[1]),
		}, extraArgs...)...)
		c.Servers = append(c.Servers, s)
		c.clients[s] = nodeClient(t, s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := errors.Join(c.join(ctx, masters), c.WaitReady(ctx)); err != nil {
		t.Fatal(err)
	}
	return c
}

// nodeClient returns a client that speaks to one server and follows no redirection. It ends with the test.
func nodeClient(t testing.TB, s *Server) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.own, MaxRetries: -1, DialerRetries: 1, DialTimeout: 2 * time.Second})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// join makes one cluster of single nodes: the first ones share the slots, the others replicate them in turn.
func (c *Cluster) join(ctx context.Context, masters int) error {
	for i, s := range c.Servers {
		// Different epochs from the start: two nodes of one epoch would have to settle it first.
		if err := c.clients[s].Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		if i < masters {
			first, last := i*slotCount/masters, (i+1)*slotCount/masters-1
			if err := c.clients[s].ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
				return err
			}
		}
	}
	if err := poll(ctx, "all nodes to meet", func() error { return c.meet(ctx) }); err != nil {
		return err
	}
	for i, s := range c.Servers[masters:] {
		master, err := c.clients[c.Servers[i%masters]].ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		replicate := func() error { return c.clients[s].ClusterReplicate(ctx, master).Err() }
		if err := poll(ctx, "a replica to know its master", replicate); err != nil {
			return err
		}
	}
	return nil
}

// meet makes the first node know all, itself too (so it learns its address), and says whether all know all. A node forgets
// what does not answer within three seconds, so it may have to be told again.
func (c *Cluster) meet(ctx context.Context) error {
	first := c.clients[c.Servers[0]]
	nodes, err := first.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	for _, s := range c.Servers {
		if strings.Contains(nodes, s.Addr+"@") {
			continue
		}
		host, port, err := net.SplitHostPort(s.Addr)
		if err != nil {
			return err
		}
		bus := s.args[slices.Index(s.args, "--cluster-announce-bus-port")+1]
		if err := first.Do(ctx, "CLUSTER", "MEET", host, port, bus).Err(); err != nil {
			return err
		}
	}
	if strings.Contains(nodes, "handshake") {
		return fmt.Errorf("not all have answered:\n%s", nodes)
	}
	return c.everywhere(ctx, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Servers)))
}

// everywhere says whether CLUSTER INFO of every running node holds the text.
func (c *Cluster) everywhere(ctx context.Context, text string) error {
	for _, s := range c.Servers {
		if !s.running() {
			continue
		}
		info, err := c.clients[s].ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		if !strings.Contains(info, text) {
			return fmt.Errorf("%s has no %q in its cluster info:\n%s", s.Addr, text, info)
		}
	}
	return nil
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		addrs[i] = s.Addr
	}
	return addrs
}

// WaitReady waits until all slots are served, all running nodes name the same masters, and all running replicas are
// in sync with theirs.
func (c *Cluster) WaitReady(ctx context.Context) error {
	return poll(ctx, "the cluster to be ready", func() error {
		if err := c.everywhere(ctx, "cluster_state:ok"); err != nil {
			return err
		}
		var agreed []string
		for _, s := range c.Servers {
			if !s.running() {
				continue
			}
			slots, err := clusterSlots(ctx, c.clients[s])
			if err != nil {
				return err
			}
			masters := make([]string, len(slots))
			roles := map[string]bool{} // addresses of masters and replicas
			for i, r := range slots {
				masters[i] = fmt.Sprint(r.Start, "-", r.End, " ", r.Nodes[0].Addr)
				for _, n := range r.Nodes {
					roles[n.Addr] = true
				}
			}
			for _, other := range c.Servers {
				if other.running() && !roles[other.Addr] {
					return fmt.Errorf("%s does not know what %s does", s.Addr, other.Addr)
				}
			}
			slices.Sort(masters)
			if agreed != nil && !slices.Equal(agreed, masters) {
				return fmt.Errorf("%s sees %v, another node %v", s.Addr, masters, agreed)
			}
			agreed = masters
			if err := inSync(ctx, c.clients[s]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Client returns the client of one node, for asking only this node.
func (c *Cluster) Client(s *Server) *redis.Client { return c.clients[s] }

// inSync returns nil for a master and for a replica that has everything its master had when it connected.
func inSync(ctx context.Context, client *redis.Client) error {
	info, err := client.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if strings.Contains(info, "role:slave") && !strings.Contains(info, "master_link_status:up") {
		return fmt.Errorf("%s is not in sync:\n%s", client.Options().Addr, info)
	}
	return nil
}

// poll repeats try until it returns nil, and returns its last error when ctx ends.
func poll(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redisserver: waiting for %s: %w", what, errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
