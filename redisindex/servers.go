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

// reloadTime is how long the cluster client may take to ask which nodes are masters now. After that, the masters that it knew before
// are used. Without a bound, a replica that accepts the question and never answers would block the caller.
const reloadTime = time.Second

// eachMaster calls f for all masters at the same time, and waits. It returns an error if the masters are not known.
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

// nodeName is the address of a master. Behind Sentinel it is "master", because the client does not know the address.
func nodeName(node *redis.Client) string {
	if addr := node.Options().Addr; addr != "FailoverClient" {
		return addr
	}
	return "master"
}

// eachServer calls ask for every server behind client, and returns all findings. On a cluster these are the masters and the replicas,
// because each replica may become a master. Behind Sentinel it is the master only, because the client knows no other server.
func eachServer(ctx context.Context, client redis.UniversalClient, ask func(context.Context, *redis.Client) []diag.Finding) []diag.Finding {
	switch c := client.(type) {
	case *redis.Client:
		return ask(ctx, c)
	case *redis.ClusterClient:
		var mu sync.Mutex // ForEachShard asks all servers at the same time
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

// Ping asks every server that Claim needs whether it answers. On a cluster these are all masters, because the keys of an article
// lie on all of them. The cluster client's PING is not enough: it asks one node, and another node if the first does not answer.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.Ping(ctx).Err()
	}
	reload, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	return cluster.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error { return master.Ping(ctx).Err() })
}

// fullShare is the share of maxmemory from which Check and the monitor warn. At the whole of it Redis refuses writes or evicts keys.
const fullShare = 0.8

// serverInfo is the part of a server's reply to INFO that the index uses. A field that the server does not name is zero.
type serverInfo struct {
	version     string
	runID       string // names the process, so it changes with each restart
	policy      string // maxmemory-policy
	memoryUsed  int64  // bytes
	memoryLimit int64  // maxmemory in bytes; 0: none
	evicted     int64  // keys since the server's start
	unsaved     string // the field of INFO that says that the last write to disk failed; empty: none says so
}

// askInfo asks a server for the default sections of INFO. Redis 6.2 accepts no list of sections.
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

// memoryWarning is half a sentence if the server's memory is nearly full, and empty otherwise.
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

// saveWarning is half a sentence if the server could not save its data, and empty otherwise.
func (i serverInfo) saveWarning() string {
	if i.unsaved == "" {
		return ""
	}
	return "could not write its data to disk (" + i.unsaved + "): changes that are not saved are lost at its next restart"
}

// isRefused says whether a server refuses the command: the user lacks the right, or the server does not have the command.
func isRefused(err error) bool { return isRightMissing(err) || redis.HasErrorPrefix(err, "ERR") }

// removeCount is the number of keys that Remove scans in one step.
const removeCount = 1000

// Remove deletes all indexes below a namespace: every key that begins with the namespace and a colon. It is for temporary indexes,
// such as those of an evaluation. It scans the whole key space of each server, in steps that do not block the server.
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

// globEscaper escapes a text for a pattern of SCAN, so that it matches only itself.
var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

func removeKeys(ctx context.Context, node *redis.Client, pattern string) error {
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, removeCount).Result()
		if err != nil {
			return err
		}
		pipe := node.Pipeline()
		for _, key := range keys { // one command each: on a cluster the keys lie in different slots
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
