package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// replication is a hook that makes a client wait for replicas: it appends a write, the fence, and WAIT to
// each pipeline.
//
// WAIT counts the replicas that have all writes up to the connection's last command, so it must be sent on
// the connection of the commands. A cluster client splits a pipeline by node inside the client. So the hook
// is attached to the clients of the nodes, where each part, with redirected commands, is one pipeline on one
// connection.
//
// Every step waits, not only the steps that store entries and verdicts:
//
//   - If a failover took back a ticket, a later article would draw it again, and would not know that it is
//     the later one.
//   - A master that was cut off or frozen may have been replaced without knowing it. Its replies are outdated then.
//
// WAIT alone does not notice the replaced master: its replicas acknowledged all of its earlier writes. The
// fence is a write that is newer than the replies. A replica that acknowledges the fence still followed this
// master when the replies were made. While a slot moves to another node, the fence may be redirected there,
// and WAIT stands alone.
type replication struct {
	replicas int
	millis   int64 // longest wait, in milliseconds
}

// attach adds the hook to a client. The client must not have been used yet.
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

// ProcessHook implements redis.Hook. It adds nothing, because the index makes all writes that must last in pipelines.
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
		// A cluster client takes errors from the commands only. Commands with an error keep it: they were redirected to
		// another node, where they are run again, with a fence and WAIT of that node.
		for _, cmd := range cmds {
			if err := cmd.Err(); err == nil || errors.Is(err, redis.Nil) {
				cmd.SetErr(lack)
			}
		}
		return lack
	}
}

// lack returns the reason why too few replicas have the writes; nil if enough have them.
func (r replication) lack(fence *redis.StatusCmd, wait *redis.IntCmd) error {
	if err := fence.Err(); err != nil && !isRedirect(err) {
		return fmt.Errorf("%w: %w", ErrReplicas, err)
	}
	if err := wait.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrReplicas, err)
	}
	if wait.Val() < int64(r.replicas) {
		return fmt.Errorf("%w: %d of %d", ErrReplicas, wait.Val(), r.replicas)
	}
	return nil
}

// fenceKey is a key below the namespace, in the slot of the first key of the commands. Its hash tag is that
// whole key. If the namespace has a hash tag, that tag comes first in both keys, and so decides the slot of
// both.
func fenceKey(cmds []redis.Cmder) string {
	key := KeyOf(cmds[slices.IndexFunc(cmds, aboutKeys)])
	return key + "{" + key + "}"
}

// aboutKeys is false for commands about the connection, and for MEMORY USAGE, whose first argument is no key.
// go-redis runs the handshakes of new connections through pipeline hooks. If they ended in WAIT, connections
// to replicas would fail, because replicas refuse WAIT.
func aboutKeys(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "client", "select", "readonly", "ping", "asking", "wait", "memory":
		return false
	default:
		return true
	}
}
