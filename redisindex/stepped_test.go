package redisindex

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// noHook is the hooks that the tests have no use for.
type noHook struct{}

// DialHook implements redis.Hook.
func (noHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (noHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// steppedClient is a client whose commands wait for the scheduler, one by one.
type steppedClient struct {
	redis.UniversalClient
	noHook
	wants chan struct{} // the worker stands before a command
	pass  chan bool     // the scheduler lets it pass, or makes it crash
	nodes *rand.Rand    // draws the order in which the nodes of a cluster come to the commands of a pipeline; nil: a single server
}

var errCrash = errors.New("crashed by the scheduler")

func newSteppedClient(client redis.UniversalClient) *steppedClient {
	c := &steppedClient{UniversalClient: client, wants: make(chan struct{}), pass: make(chan bool)}
	c.AddHook(c)
	return c
}

// ProcessPipelineHook implements redis.Hook: it cuts the pipeline into single commands.
func (c *steppedClient) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range c.order(cmds) {
			if cmd.Name() != "expire" { // nothing expires here
				c.wants <- struct{}{}
				if !<-c.pass {
					return errCrash
				}
			}
			if err := next(ctx, []redis.Cmder{cmd}); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		}
		return nil
	}
}

// order is an order in which the commands of a pipeline may be run: as they come, or, on a cluster, those about one key.
func (c *steppedClient) order(cmds []redis.Cmder) []redis.Cmder {
	if c.nodes == nil {
		return cmds
	}
	rank := map[string]int{}
	ranks := c.nodes.Perm(len(cmds))
	cmds = slices.Clone(cmds)
	for i, cmd := range cmds {
		if key := keyOf(cmd); rank[key] == 0 {
			rank[key] = 1 + ranks[i]
		}
	}
	slices.SortStableFunc(cmds, func(a, b redis.Cmder) int { return cmp.Compare(rank[keyOf(a)], rank[keyOf(b)]) })
	return cmds
}
