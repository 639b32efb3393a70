package redisindex

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// errReplicas says that writes reached fewer replicas than Options.WaitReplicas. The batch is run again: what is
// there already is found, and waited for.
var errReplicas = errors.New("too few replicas have the writes")

// replication makes a client wait for replicas: each pipeline ends in a WAIT. WAIT counts the writes of its own
// connection to its own server, so it must travel with them. A pipeline of a cluster client is split by node only
// inside the client; hence the hook sits on the clients of the nodes, where each part, redirected commands
// included, is one pipeline on one connection.
//
// All steps wait, not only the ones that store entry and verdict. A ticket that a failover takes back would be
// drawn again by a later article, which would then not see that it is the later one. And a master that was replaced
// without having noticed has no replicas any more, so what it answers to a look is not believed. What remains is a
// master frozen until after it was replaced, in the moment before it notices: for that moment it shows old data.
type replication struct {
	replicas int
	millis   int64 // longest wait
}

// attach adds the hook to a client that has not been used yet.
func (r replication) attach(client redis.UniversalClient) {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(r) })
		return
	}
	client.AddHook(r)
}

// DialHook implements redis.Hook.
func (r replication) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook. Nothing that must last is written outside pipelines.
func (r replication) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (r replication) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !slices.ContainsFunc(cmds, aboutKeys) {
			return next(ctx, cmds)
		}
		wait := redis.NewIntCmd(ctx, "WAIT", r.replicas, r.millis)
		err := next(ctx, append(slices.Clip(cmds), wait))
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if err := wait.Err(); err == nil && wait.Val() >= int64(r.replicas) {
			return nil
		}
		lack := fmt.Errorf("%w: %d of %d", errReplicas, wait.Val(), r.replicas)
		if err := wait.Err(); err != nil {
			lack = fmt.Errorf("%w: %w", errReplicas, err)
		}
		// A cluster client takes errors from the commands alone. Those with an error are left: they were redirected,
		// and are answered, and waited for, on another node.
		for _, cmd := range cmds {
			if err := cmd.Err(); err == nil || errors.Is(err, redis.Nil) {
				cmd.SetErr(lack)
			}
		}
		return lack
	}
}

// aboutKeys is false for what is about the connection: with that the client opens one, also to replicas, which do not
// know WAIT.
func aboutKeys(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "client", "select", "readonly", "ping", "asking", "wait":
		return false
	default:
		return true
	}
}
