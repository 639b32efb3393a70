package admin

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// walkCount is the number of keys that a walk asks a server for in one step. A step of SCAN does not block
// the server for long.
const walkCount = 1000

// walkPipeline is the number of hashes of entries that are fetched in one round trip. They hold about
// entriesPerHash entries each, more if redis.expected_articles is too low.
const walkPipeline = 200

// globEscaper escapes a text for a pattern of SCAN, so that it matches only itself.
var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// Walk calls fn with the keys of the index, some of one server at a time, until fn returns an error. Keys
// that are made or removed meanwhile may be left out; a key may come twice. seen gets the number of keys that
// the servers have gone through, and total the number of all keys of the servers, other programs' keys
// included; 0 if it is not known. Walk needs the right to SCAN, and for total the right to DBSIZE. Servers
// work at the same time; fn and seen are called by one of them at a time.
func (t *Tools) Walk(ctx context.Context, seen func(keys, total int64), fn func(Keys) error) error {
	sizes, total := map[*redis.Client]int64{}, int64(0)
	return t.scan(ctx, globEscaper.Replace(t.keys.Prefix)+"*", func(node *redis.Client, keys []string) error {
		if _, asked := sizes[node]; !asked {
			sizes[node], _ = node.DBSize(ctx).Result()
			total += sizes[node]
		}
		seen(min(walkCount, sizes[node]), total)
		return fn(Keys{t, node, keys})
	})
}

// Remove deletes the keys of the index. It is for temporary indexes, such as those of an evaluation.
func (t *Tools) Remove(ctx context.Context) error {
	return t.Walk(ctx, func(int64, int64) {}, func(k Keys) error {
		pipe := k.node.Pipeline()
		for _, key := range k.names { // one command each: on a cluster the keys lie in different slots
			pipe.Unlink(ctx, key)
		}
		return connection.Execute(ctx, pipe)
	})
}

// Others returns where other indexes in the database are: every namespace, recipe and layout with a ticket
// counter. It goes through all keys of the servers, and needs the right to SCAN.
func (t *Tools) Others(ctx context.Context) (others []keyspace.Name, err error) {
	err = t.scan(ctx, "*:"+keyspace.SequenceKey, func(_ *redis.Client, keys []string) error {
		for _, key := range keys {
			name, ok := keyspace.ParsePrefix(strings.TrimSuffix(key, keyspace.SequenceKey))
			name.Database = t.keys.ID.Database
			if ok && name != t.keys.ID.Name {
				others = append(others, name)
			}
		}
		return nil
	})
	slices.SortFunc(others, func(a, b keyspace.Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(others), err
}

// scan calls fn with the keys that match a pattern, some of one server at a time.
func (t *Tools) scan(ctx context.Context, pattern string, fn func(node *redis.Client, keys []string) error) error {
	var mu sync.Mutex
	return connection.EachMaster(ctx, t.client, func(ctx context.Context, node *redis.Client) error {
		for cursor := uint64(0); ; {
			var keys []string
			err := t.session.Patiently(ctx, "scan", func() (err error) {
				var next uint64
				keys, next, err = node.Scan(ctx, cursor, pattern, walkCount).Result()
				if err == nil {
					cursor = next
				}
				return err
			})
			if err == nil {
				mu.Lock()
				err = fn(node, keys)
				mu.Unlock()
			}
			if err != nil || cursor == 0 {
				return err
			}
		}
	})
}

// Keys are some keys of the index on one server.
type Keys struct {
	tools *Tools
	node  *redis.Client
	names []string
}

// Bytes returns how much memory the keys take, by kind, as MEMORY USAGE estimates it.
func (k Keys) Bytes(ctx context.Context) (bytes map[keyspace.KeyKind]int64, err error) {
	replies := make([]*redis.IntCmd, len(k.names))
	err = k.tools.session.Send(ctx, "memory of keys", k.node, func(pipe redis.Pipeliner) {
		for i, key := range k.names {
			replies[i] = pipe.MemoryUsage(ctx, key)
		}
	})
	bytes = map[keyspace.KeyKind]int64{}
	for i, key := range k.names {
		kind, _, _ := k.tools.keys.Parse(key)
		bytes[kind] += replies[i].Val()
	}
	return bytes, err
}

// Articles returns the articles whose entries are in the keys. Damaged fields are left out: Claim sets them aside.
func (k Keys) Articles(ctx context.Context) (articles []keyspace.StoredArticle, damaged int, err error) {
	keys := k.tools.keys
	names := slices.DeleteFunc(slices.Clone(k.names), func(key string) bool {
		kind, _, _ := keys.Parse(key)
		return kind != keyspace.KeyEntries
	})
	for part := range slices.Chunk(names, walkPipeline) {
		replies := make([]*redis.MapStringStringCmd, len(part))
		if err := k.tools.session.Send(ctx, "entries", k.node, func(pipe redis.Pipeliner) {
			for i, key := range part {
				replies[i] = pipe.HGetAll(ctx, key)
			}
		}); err != nil {
			return nil, 0, err
		}
		for i, key := range part {
			_, slice, err := keys.Parse(key)
			if err != nil {
				return nil, 0, err
			}
			for field, value := range replies[i].Val() {
				found, bad := keys.Layout.InField(key, slice, field, value)
				articles = append(articles, found...)
				if bad {
					damaged++
				}
			}
		}
	}
	return articles, damaged, nil
}
