package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// removeCount is the number of keys that Remove scans in one step.
const removeCount = 1000

// Remove deletes all indexes below a namespace: every key that begins with the namespace and a colon. It is
// for temporary indexes, such as those of an evaluation. It scans the whole key space of each server, in
// steps that do not block the server.
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
