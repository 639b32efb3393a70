package redisserver

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Owner returns the master that serves the slot, as most of the running nodes see it: one that was just replaced or
// is cut off may still take itself for it.
func (c *Cluster) Owner(ctx context.Context, slot int) (*Server, error) {
	votes := map[*Server]int{}
	var problem error
	for _, s := range c.Servers {
		if !s.running() {
			continue
		}
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
		return nil, fmt.Errorf("redisserver: nobody owns slot %d: %w", slot, problem)
	}
	return owner, nil
}

// Replicas returns the running replicas of the slot's master.
func (c *Cluster) Replicas(ctx context.Context, slot int) ([]*Server, error) {
	owner, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	asked := owner
	for _, s := range c.Servers {
		if s.running() && !asked.running() {
			asked = s
		}
	}
	nodes, err := c.nodes(ctx, asked, slot)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(nodes[1:], func(s *Server) bool { return !s.running() }), nil
}

// nodes asks one server who serves a slot: the master, then its replicas.
func (c *Cluster) nodes(ctx context.Context, asked *Server, slot int) ([]*Server, error) {
	slots, err := clusterSlots(ctx, c.clients[asked])
	if err != nil {
		return nil, err
	}
	var nodes []*Server
	for _, r := range slots {
		if slot < r.Start || slot > r.End {
			continue
		}
		for _, n := range r.Nodes {
			for _, s := range c.Servers {
				if s.Addr == n.Addr {
					nodes = append(nodes, s)
				}
			}
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("redisserver: %s knows no node for slot %d", asked.Addr, slot)
	}
	return nodes, nil
}

// clusterSlots asks a node who serves which slots. Each range names its master first, and no node that failed.
func clusterSlots(ctx context.Context, client *redis.Client) ([]redis.ClusterSlot, error) {
	cmd := redis.NewClusterSlotsCmd(ctx, "CLUSTER", "SLOTS")
	if err := client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}
