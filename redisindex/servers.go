package redisindex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"echosieve/internal/diag"

	"github.com/redis/go-redis/v9"
)

// fullShare is the share of maxmemory from which Check and the monitor warn: at all of it, Redis refuses writes.
const fullShare = 0.8

// serverInfo is what INFO says of one server. A field that the server does not name is zero.
type serverInfo struct {
	version     string
	runID       string // of the process: another one after each restart
	policy      string // maxmemory-policy
	memoryUsed  int64  // bytes
	memoryLimit int64  // maxmemory in bytes; 0: none
	evicted     int64  // keys since the server's start
	unsaved     string // the field that says that the last write to disk failed; empty: none does
}

// askInfo asks a server for the default sections: Redis 6.2 takes no list of sections.
func askInfo(ctx context.Context, server *redis.Client) (serverInfo, error) {
	text, err := server.Info(ctx).Result()
	if err != nil {
		return serverInfo{}, err
	}
	return parseInfo(text), nil
}

func parseInfo(text string) serverInfo {
	var i serverInfo
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			i.version = value
		case "run_id":
			i.runID = value
		case "maxmemory_policy":
			i.policy = value
		case "used_memory":
			i.memoryUsed, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory":
			i.memoryLimit, _ = strconv.ParseInt(value, 10, 64)
		case "evicted_keys":
			i.evicted, _ = strconv.ParseInt(value, 10, 64)
		case "rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status":
			if value == "err" {
				i.unsaved = name
			}
		}
	}
	return i
}

// The warnings that Check and the monitor have in common: half a sentence each, empty if all is well.

func (i serverInfo) memoryWarning() string {
	if i.memoryLimit == 0 || float64(i.memoryUsed) < fullShare*float64(i.memoryLimit) {
		return ""
	}
	const mib = 1 << 20
	return fmt.Sprintf("uses %d of %d MiB (maxmemory): %s", i.memoryUsed/mib, i.memoryLimit/mib, i.whenFull())
}

func (i serverInfo) whenFull() string {
	if i.policy == "" || i.policy == "noeviction" {
		return "when it is full, Redis refuses writes, and the service waits"
	}
	return "when it is full, Redis drops articles (" + i.policy + "), and their copies pass as unique"
}

func (i serverInfo) saveWarning() string {
	if i.unsaved == "" {
		return ""
	}
	return "could not write its data to disk (" + i.unsaved + "): what is not saved is lost at its next restart"
}

// isRefused says whether a server answered that it does not answer such questions: no right, or no such command.
func isRefused(err error) bool { return isRightMissing(err) || redis.HasErrorPrefix(err, "ERR") }

// reloadTime is how long Ping waits to hear who the masters are now; after that, those last heard of count. A replica
// that swallows requests may be the one asked.
const reloadTime = time.Second

// Ping asks every server that claims need: of a cluster all masters, for a claim's keys lie on all of them. The cluster
// client's own PING asks any one node, and another if that does not answer.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.Ping(ctx).Err()
	}
	reload, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	return cluster.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error { return master.Ping(ctx).Err() })
}

// removeCount is the number of keys that Remove asks for at a time.
const removeCount = 1000

// Remove deletes every key of the indexes below a namespace: those that begin with the namespace and a colon. It is
// for throw-away indexes, as an evaluation makes them. It goes through the whole key space of each server, in
// steps that do not hold it up.
func Remove(ctx context.Context, client redis.UniversalClient, namespace string) error {
	if namespace == "" {
		return fmt.Errorf("redisindex: remove: namespace is empty")
	}
	pattern := globEscaper.Replace(namespace) + ":*"
	remove := func(ctx context.Context, node *redis.Client) error { return removeKeys(ctx, node, pattern) }
	var err error
	switch c := client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, remove)
	case *redis.Client:
		err = remove(ctx, c)
	default:
		err = fmt.Errorf("no way to list the keys of a %T", client)
	}
	if err != nil {
		return fmt.Errorf("redisindex: remove: %w", err)
	}
	return nil
}

// globEscaper makes a text stand for itself in a pattern.
var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

func removeKeys(ctx context.Context, node *redis.Client, pattern string) error {
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, removeCount).Result()
		if err != nil {
			return err
		}
		pipe := node.Pipeline()
		for _, key := range keys { // one by one: in a cluster they lie in different slots
			pipe.Unlink(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil && len(keys) > 0 {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// eachMaster calls f for every master at the same time. It returns an error if the masters are not known.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, *redis.Client)) error {
	switch c := client.(type) {
	case *redis.Client:
		f(ctx, c)
	case *redis.ClusterClient:
		reload, cancel := context.WithTimeout(ctx, reloadTime)
		defer cancel()
		return c.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error {
			f(ctx, master)
			return nil
		})
	}
	return nil
}

// nodeName is a master's address. Behind Sentinel the client does not know it.
func nodeName(node *redis.Client) string {
	if addr := node.Options().Addr; addr != "FailoverClient" {
		return addr
	}
	return "master"
}

// eachServer asks every server behind client: of a cluster all masters and replicas, for each may be a master next;
// behind Sentinel only the master, which is all that the client knows.
func eachServer(ctx context.Context, client redis.UniversalClient, ask func(context.Context, *redis.Client) []diag.Finding) []diag.Finding {
	switch c := client.(type) {
	case *redis.Client:
		return ask(ctx, c)
	case *redis.ClusterClient:
		var mu sync.Mutex // ForEachShard calls for all servers at the same time
		var findings []diag.Finding
		err := c.ForEachShard(ctx, func(ctx context.Context, server *redis.Client) error {
			found := ask(ctx, server)
			mu.Lock()
			defer mu.Unlock()
			findings = append(findings, found...)
			return nil
		})
		if err != nil {
			findings = append(findings, diag.New(diag.Failure, "redis cluster", err.Error(), "check the cluster's state with CLUSTER INFO"))
		}
		slices.SortStableFunc(findings, func(a, b diag.Finding) int { return cmp.Compare(a.Subject, b.Subject) })
		return findings
	}
	return nil
}
