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

// replication makes a client wait for replicas: each pipeline ends in a write, the fence, and a WAIT. WAIT counts the
// replicas that have what the server had written when it ran the connection's last command, so it must travel with the
// commands. A pipeline of a cluster client is split by node only inside the client; hence the hook sits on the clients
// of the nodes, where each part, redirected commands included, is one pipeline on one connection.
//
// All steps wait, not only the ones that store entry and verdict. A ticket that a failover takes back would be
// drawn again by a later article, which would then not see that it is the later one. And what a master answers to a
// look counts only if it still is the master: one that was cut off, or frozen, may have been replaced without knowing
// it, and shows old data. WAIT alone lets that pass, for the replica once acknowledged all there was. The fence is newer
// than the answers: a replica that acknowledges it followed this master when they were given. While a slot moves,
// the fence may be redirected, and WAIT stands alone.
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
		fence := redis.NewStatusCmd(ctx, "SET", fenceKey(cmds), "", "EX", 1)
		wait := redis.NewIntCmd(ctx, "WAIT", r.replicas, r.millis)
		err := next(ctx, append(slices.Clip(cmds), fence, wait))
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		lack := r.lack(fence, wait)
		if lack == nil {
			return nil
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

// lack says why the replicas cannot be counted on; nil: they can.
func (r replication) lack(fence *redis.StatusCmd, wait *redis.IntCmd) error {
	if err := fence.Err(); err != nil && !isRedirect(err) {
		return fmt.Errorf("%w: %w", errReplicas, err)
	}
	if err := wait.Err(); err != nil {
		return fmt.Errorf("%w: %w", errReplicas, err)
	}
	if wait.Val() < int64(r.replicas) {
		return fmt.Errorf("%w: %d of %d", errReplicas, wait.Val(), r.replicas)
	}
	return nil
}

// fenceKey is a key below the namespace and in the slot of the first key of the commands. That whole key is its hash tag,
// unless the namespace holds one: then that comes first, in both.
func fenceKey(cmds []redis.Cmder) string {
	key := keyOf(cmds[slices.IndexFunc(cmds, aboutKeys)])
	return key + "{" + key + "}"
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
