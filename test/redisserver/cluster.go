package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/test/host"
)

// slotCount is the number of hash slots of every Redis Cluster.
const slotCount = 16384

// patience bounds each wait for a server to answer, and for a cluster or the sentinels to agree. It is far
// more than an idle machine needs.
const patience = 3 * time.Minute

// Cluster is a Redis Cluster of real servers on loopback. It ends with the test. The methods that change it
// (clusterfaults.go) return errors and may be called from any goroutine, but not at the same time.
type Cluster struct {
	Servers []*Server // at first the masters, then their replicas; failovers change the roles
}

// StartCluster starts masters that share the slots equally, and so many replicas of each master. It waits
// until all nodes agree and every replica is in sync. The cluster replaces a master that does not answer for
// three seconds. extraArgs are arguments of every redis-server. It needs Redis 7 or later.
func StartCluster(t testing.TB, masters, replicas int, extraArgs ...string) *Cluster {
	t.Helper()
	return StartClusterBehind(t, nil, masters, replicas, extraArgs...)
}

// StartClusterBehind is StartCluster with a front, which gets two addresses of each node: its address for
// clients and its address for the other nodes.
func StartClusterBehind(t testing.TB, f host.Front, masters, replicas int, extraArgs ...string) *Cluster {
	t.Helper()
	if version, _ := exec.Command(program(), "--version").Output(); strings.Contains(string(version), " v=6.") {
		t.Skip("needs Redis 7")
	}
	c := &Cluster{}
	for range masters * (1 + replicas) {
		ports := host.Ports(t, 2)
		reached := f.Before(ports...)
		c.Servers = append(c.Servers, start(t, ports[0], reached[0], append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "3000", "--repl-diskless-sync-delay", "0",
			// else no replica is promoted once elections have failed for 40 s, as on a busy machine
			"--cluster-replica-validity-factor", "0",
			"--cluster-port", fmt.Sprint(ports[1]),
			"--cluster-announce-port", portOf(reached[0]), "--cluster-announce-bus-port", portOf(reached[1]),
		}, extraArgs...)...))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, errors.Join(c.join(ctx, masters), c.WaitReady(ctx)))
	return c
}

// join makes a cluster of the nodes: the first nodes share the slots, the others replicate them in turn.
func (c *Cluster) join(ctx context.Context, masters int) error {
	for i, s := range c.Servers {
		// Every node gets an epoch of its own. Nodes with the same epoch would have to resolve that conflict first.
		if err := s.Client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		if i < masters {
			first, last := i*slotCount/masters, (i+1)*slotCount/masters-1
			if err := s.Client.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
				return err
			}
		}
	}
	if err := poll(ctx, "all nodes to meet", func() error { return c.meet(ctx) }); err != nil {
		return err
	}
	for i, s := range c.Servers[masters:] {
		master, err := c.Servers[i%masters].Client.ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		replicate := func() error { return s.Client.ClusterReplicate(ctx, master).Err() }
		if err := poll(ctx, "a replica to know its master", replicate); err != nil {
			return err
		}
	}
	return nil
}

// meet tells the first node about all nodes (about itself, too, so that it learns its address), and returns
// nil if every node knows all nodes. A node forgets other nodes that do not answer within three seconds: meet
// must then be called again.
func (c *Cluster) meet(ctx context.Context) error {
	first := c.Servers[0].Client
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
		return fmt.Errorf("not all nodes have answered:\n%s", nodes)
	}
	return c.everywhere(ctx, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Servers)))
}

// everywhere returns nil if CLUSTER INFO of every running node contains the text.
func (c *Cluster) everywhere(ctx context.Context, text string) error {
	for _, s := range running(c.Servers) {
		info, err := s.Client.ClusterInfo(ctx).Result()
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
func (c *Cluster) Addrs() []string { return addrs(c.Servers) }

func addrs(servers []*Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.Addr)
	}
	return all
}

// running are those of the servers that were started and not stopped since.
func running(servers []*Server) []*Server {
	return slices.DeleteFunc(slices.Clone(servers), func(s *Server) bool { return s.process == nil })
}

// WaitReady waits until all slots are served, all running nodes name the same masters, and all running
// replicas are in sync with their masters.
func (c *Cluster) WaitReady(ctx context.Context) error {
	return poll(ctx, "the cluster to be ready", func() error {
		if err := c.everywhere(ctx, "cluster_state:ok"); err != nil {
			return err
		}
		var agreed []string
		for _, s := range running(c.Servers) {
			slots, err := clusterSlots(ctx, s.Client)
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
			for _, other := range running(c.Servers) {
				if !roles[other.Addr] {
					return fmt.Errorf("%s does not know the role of %s", s.Addr, other.Addr)
				}
			}
			slices.Sort(masters)
			if agreed != nil && !slices.Equal(agreed, masters) {
				return fmt.Errorf("%s sees %v, another node %v", s.Addr, masters, agreed)
			}
			agreed = masters
			if err := inSync(ctx, s.Client); err != nil {
				return err
			}
		}
		return nil
	})
}

// inSync returns nil for a master, and for a replica that has loaded the data of its master.
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

// Owner returns the master that serves the slot in the view of most running nodes. A master that was just
// replaced, or that is cut off, may still believe that it serves the slot.
func (c *Cluster) Owner(ctx context.Context, slot int) (*Server, error) {
	votes := map[*Server]int{}
	var problem error
	for _, s := range running(c.Servers) {
		nodes, err := c.nodes(ctx, s, slot)
		if err != nil {
			problem = err
			continue
		}
		votes[nodes[0]]++
	}
	var owner *Server
	for s, n := range votes {
		if owner == nil || n > votes[owner] {
			owner = s
		}
	}
	if owner == nil {
		return nil, fmt.Errorf("redisserver: no master serves slot %d: %w", slot, problem)
	}
	return owner, nil
}

// Replicas returns the running replicas of the slot's master.
func (c *Cluster) Replicas(ctx context.Context, slot int) ([]*Server, error) {
	owner, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	asked := running(append([]*Server{owner}, c.Servers...))[0]
	nodes, err := c.nodes(ctx, asked, slot)
	if err != nil {
		return nil, err
	}
	return running(nodes[1:]), nil
}

// nodes returns the master of a slot and then its replicas, in the view of one node.
func (c *Cluster) nodes(ctx context.Context, asked *Server, slot int) ([]*Server, error) {
	slots, err := clusterSlots(ctx, asked.Client)
	if err != nil {
		return nil, err
	}
	var nodes []*Server
	for _, r := range slots {
		if slot < r.Start || slot > r.End {
			continue
		}
		for _, n := range r.Nodes {
			if i := slices.Index(c.Addrs(), n.Addr); i >= 0 {
				nodes = append(nodes, c.Servers[i])
			}
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("redisserver: %s knows no node for slot %d", asked.Addr, slot)
	}
	return nodes, nil
}

// clusterSlots returns which nodes serve which slots, in the view of one node. Each range names its master
// first. Failed nodes are left out.
func clusterSlots(ctx context.Context, client *redis.Client) ([]redis.ClusterSlot, error) {
	cmd := redis.NewClusterSlotsCmd(ctx, "CLUSTER", "SLOTS")
	if err := client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}
