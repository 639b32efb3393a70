package admin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

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

// Walk calls fn with the keys of the index, some of one server at a time, until fn returns an error. Keys
// that are made or removed meanwhile may be left out; a key may come twice. seen gets the number of keys that
// the servers have gone through, and total the number of all keys of the servers, other programs' keys
// included; 0 if it is not known. Walk needs the right to SCAN, and for total the right to DBSIZE. Servers
// work at the same time; fn and seen are called by one of them at a time.
func (t *Tools) Walk(ctx context.Context, seen func(keys, total int64), fn func(Keys) error) error {
	var mu sync.Mutex
	var errs []error
	var total int64
	err := connection.EachMaster(ctx, t.client, func(ctx context.Context, node *redis.Client) {
		size, _ := node.DBSize(ctx).Result()
		mu.Lock()
		total += size
		mu.Unlock()
		err := t.walkNode(ctx, node, func(keys []string) error {
			mu.Lock()
			defer mu.Unlock()
			seen(min(walkCount, size), total)
			return fn(Keys{t, node, keys})
		})
		if err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
	})
	return errors.Join(append(errs, err)...)
}

// Others returns where other indexes in the database are: every namespace, recipe and layout with a ticket
// counter. It goes through all keys of the servers, and needs the right to SCAN.
func (t *Tools) Others(ctx context.Context) (others []keyspace.Name, err error) {
	var mu sync.Mutex
	var errs []error
	err = connection.EachMaster(ctx, t.client, func(ctx context.Context, node *redis.Client) {
		err := t.scanNode(ctx, node, "*:"+keyspace.SequenceKey, func(keys []string) error {
			mu.Lock()
			defer mu.Unlock()
			for _, key := range keys {
				if name, ok := keyspace.ParsePrefix(strings.TrimSuffix(key, keyspace.SequenceKey)); ok {
					name.Database = t.keys.ID.Database
					others = append(others, name)
				}
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	})
	slices.SortFunc(others, func(a, b keyspace.Name) int { return strings.Compare(a.String(), b.String()) })
	others = slices.DeleteFunc(slices.Compact(others), func(p keyspace.Name) bool { return p == t.keys.ID.Name })
	return others, errors.Join(append(errs, err)...)
}

// SliceStart returns the beginning of the slice in which a time lies.
func (t *Tools) SliceStart(at time.Time) time.Time {
	return time.UnixMilli(t.keys.Layout.Start(t.keys.Layout.Slice(keyspace.WindowTime(at))))
}

func (t *Tools) walkNode(ctx context.Context, node *redis.Client, fn func(keys []string) error) error {
	return t.scanNode(ctx, node, globEscaper.Replace(t.keys.Prefix)+"*", fn)
}

// scanNode calls fn with the keys of a server that match a pattern.
func (t *Tools) scanNode(ctx context.Context, node *redis.Client, pattern string, fn func(keys []string) error) error {
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
			err = fn(keys)
		}
		if err != nil || cursor == 0 {
			return err
		}
	}
}

// Keys are some keys of the index on one server.
type Keys struct {
	tools *Tools
	node  *redis.Client
	names []string
}

// Bytes returns how much memory the keys take, by kind, as MEMORY USAGE estimates it.
func (k Keys) Bytes(ctx context.Context) (bytes map[keyspace.KeyKind]int64, err error) {
	err = k.tools.session.Patiently(ctx, "memory of keys", func() error {
		pipe := k.node.Pipeline()
		replies := make([]*redis.IntCmd, len(k.names))
		for i, key := range k.names {
			replies[i] = pipe.MemoryUsage(ctx, key)
		}
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		bytes = map[keyspace.KeyKind]int64{}
		for i, key := range k.names {
			bytes[k.tools.keys.KindOf(key)] += replies[i].Val()
		}
		return nil
	})
	return bytes, err
}

// Articles returns the articles whose entries are in the keys. Damaged fields are left out: Claim sets them aside.
func (k Keys) Articles(ctx context.Context) (articles []keyspace.StoredArticle, damaged int, err error) {
	names := slices.DeleteFunc(slices.Clone(k.names),
		func(key string) bool { return k.tools.keys.KindOf(key) != keyspace.KeyEntries })
	for part := range slices.Chunk(names, walkPipeline) {
		var replies []*redis.MapStringStringCmd
		if err := k.tools.session.Patiently(ctx, "entries", func() error {
			pipe := k.node.Pipeline()
			replies = replies[:0]
			for _, key := range part {
				replies = append(replies, pipe.HGetAll(ctx, key))
			}
			return connection.Execute(ctx, pipe)
		}); err != nil {
			return nil, 0, err
		}
		for i, key := range part {
			slice, err := k.tools.keys.SliceOf(key)
			if err != nil {
				return nil, 0, err
			}
			for field, value := range replies[i].Val() {
				found, bad := k.tools.keys.InField(key, slice, field, value)
				articles = append(articles, found...)
				if bad {
					damaged++
				}
			}
		}
	}
	return articles, damaged, nil
}
