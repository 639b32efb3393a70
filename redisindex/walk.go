package redisindex

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/indexid"
	"echosieve/simhash"
)

// walkCount is the number of keys that a walk asks a server for in one step. A step of SCAN does not block the server for long.
const walkCount = 1000

// walkPipeline is the number of hashes of entries that are fetched in one round trip. They hold about entriesPerHash entries each, more if
// redis.expected_articles is too low.
const walkPipeline = 200

// KeyKind is a kind of key of the index.
type KeyKind string

// The kinds of key.
const (
	KeyEntries KeyKind = "entries"     // hashes of entries
	KeyLists   KeyKind = "block lists" // hashes of block lists, or sets
	KeyDamaged KeyKind = "damaged"     // copies of damaged fields
	KeyOthers  KeyKind = "others"      // the counter, spans, markers, progress of refills
)

// kindOf returns the kind of a key of the index.
func (x *Index) kindOf(key string) KeyKind {
	name := strings.TrimPrefix(key, x.keys.prefix)
	if strings.Contains(name, "{") { // a fence, which has the name of the key that was written before it, or a marker
		return KeyOthers
	}
	switch name, _, _ = strings.Cut(name, ":"); name {
	case "o":
		return KeyEntries
	case "b", "s":
		return KeyLists
	case "d":
		return KeyDamaged
	default:
		return KeyOthers
	}
}

// Walk calls fn with the keys of the index, some of one server at a time, until fn returns an error. Keys that are made or removed
// meanwhile may be left out; a key may come twice. seen gets the number of keys that the servers have gone through, and total the
// number of all keys of the servers, other programs' keys included; 0 if it is not known. Walk needs the right to SCAN, and for total
// the right to DBSIZE. Servers work at the same time; fn and seen are called by one of them at a time.
func (x *Index) Walk(ctx context.Context, seen func(keys, total int64), fn func(Keys) error) error {
	var mu sync.Mutex
	var errs []error
	var total int64
	err := eachMaster(ctx, x.client, func(ctx context.Context, node *redis.Client) {
		size, _ := node.DBSize(ctx).Result()
		mu.Lock()
		total += size
		mu.Unlock()
		err := x.walkNode(ctx, node, func(keys []string) error {
			mu.Lock()
			defer mu.Unlock()
			seen(min(walkCount, size), total)
			return fn(Keys{x, node, keys})
		})
		if err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
	})
	return errors.Join(append(errs, err)...)
}

// Others returns where other indexes in the database are: every namespace, recipe and layout with a ticket counter. It goes through all
// keys of the servers, and needs the right to SCAN.
func (x *Index) Others(ctx context.Context) (others []indexid.Place, err error) {
	var mu sync.Mutex
	var errs []error
	err = eachMaster(ctx, x.client, func(ctx context.Context, node *redis.Client) {
		err := x.scanNode(ctx, node, "*:"+sequenceKey, func(keys []string) error {
			mu.Lock()
			defer mu.Unlock()
			for _, key := range keys {
				if place, ok := indexid.ParsePrefix(strings.TrimSuffix(key, sequenceKey)); ok {
					place.Database = x.id.Database
					others = append(others, place)
				}
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	})
	slices.SortFunc(others, func(a, b indexid.Place) int { return strings.Compare(a.String(), b.String()) })
	others = slices.DeleteFunc(slices.Compact(others), func(p indexid.Place) bool { return p == x.id.Place })
	return others, errors.Join(append(errs, err)...)
}

func (x *Index) walkNode(ctx context.Context, node *redis.Client, fn func(keys []string) error) error {
	return x.scanNode(ctx, node, globEscaper.Replace(x.keys.prefix)+"*", fn)
}

// scanNode calls fn with the keys of a server that match a pattern.
func (x *Index) scanNode(ctx context.Context, node *redis.Client, pattern string, fn func(keys []string) error) error {
	for cursor := uint64(0); ; {
		var keys []string
		err := x.patiently(ctx, "scan", func() (err error) {
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
	x     *Index
	node  *redis.Client
	names []string
}

// Bytes returns how much memory the keys take, by kind, as MEMORY USAGE estimates it.
func (k Keys) Bytes(ctx context.Context) (bytes map[KeyKind]int64, err error) {
	err = k.x.patiently(ctx, "memory of keys", func() error {
		pipe := k.node.Pipeline()
		replies := make([]*redis.IntCmd, len(k.names))
		for i, key := range k.names {
			replies[i] = pipe.MemoryUsage(ctx, key)
		}
		if err := execute(ctx, pipe); err != nil {
			return err
		}
		bytes = map[KeyKind]int64{}
		for i, key := range k.names {
			bytes[k.x.kindOf(key)] += replies[i].Val()
		}
		return nil
	})
	return bytes, err
}

// Articles returns the articles whose entries are in the keys. Damaged fields are left out: Claim sets them aside.
func (k Keys) Articles(ctx context.Context) (articles []StoredArticle, damaged int, err error) {
	names := slices.DeleteFunc(slices.Clone(k.names), func(key string) bool { return k.x.kindOf(key) != KeyEntries })
	for part := range slices.Chunk(names, walkPipeline) {
		var replies []*redis.MapStringStringCmd
		if err := k.x.patiently(ctx, "entries", func() error {
			pipe := k.node.Pipeline()
			replies = replies[:0]
			for _, key := range part {
				replies = append(replies, pipe.HGetAll(ctx, key))
			}
			return execute(ctx, pipe)
		}); err != nil {
			return nil, 0, err
		}
		for i, key := range part {
			span, err := k.x.spanOf(key)
			if err != nil {
				return nil, 0, err
			}
			for field, value := range replies[i].Val() {
				found, bad := k.x.inField(key, span, field, value)
				articles = append(articles, found...)
				if bad {
					damaged++
				}
			}
		}
	}
	return articles, damaged, nil
}

// spanOf returns the span in the name of a key of entries or block lists.
func (x *Index) spanOf(key string) (int64, error) {
	parts := strings.Split(strings.TrimPrefix(key, x.keys.prefix), ":")
	if len(parts) < 3 {
		return 0, fmt.Errorf("redisindex: %q is no key of the index", key)
	}
	return strconv.ParseInt(parts[1], 10, 64)
}

// inField decodes the articles of a field. It is bad if a part of the field is damaged.
func (x *Index) inField(key string, span int64, field, value string) (articles []StoredArticle, bad bool) {
	if len(field) < fingerprintBytes {
		return nil, true
	}
	f := fieldRef{span, firstFingerprint(field)}
	for rest := value; rest != ""; {
		e, after, err := cutEntry(f, x.layout.start(span), rest)
		if err != nil {
			return articles, true
		}
		s, err := x.describe(&e, len(field) > fingerprintBytes)
		if err != nil {
			return articles, true
		}
		s.place = place{key, field, value, rest[:len(rest)-len(after)]}
		articles = append(articles, s)
		rest = after
	}
	return articles, false
}

// List is a block list, or what a look-up reads of it.
type List struct {
	From         time.Time // the beginning of its span
	Block        int       // its number; Config.Blocks is that of anchors
	Value        uint64    // of the block
	Fingerprints []simhash.Fingerprint
	Full         bool // it takes no more fingerprints

	span int64
}

// SpanStart returns the beginning of the span in which a time lies.
func (x *Index) SpanStart(t time.Time) time.Time {
	return time.UnixMilli(x.layout.start(x.layout.span(windowTime(t))))
}

// Lists calls fn with the block lists of each key.
func (k Keys) Lists(ctx context.Context, fn func([]List) error) error {
	for _, key := range k.names {
		if k.x.kindOf(key) != KeyLists {
			continue
		}
		var lists []List
		err := k.x.patiently(ctx, "block lists", func() (err error) {
			lists, err = k.listsOf(ctx, key)
			return err
		})
		if err == nil {
			err = fn(lists)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listsOf returns the block lists of a key: all fields of a hash, or a set.
func (k Keys) listsOf(ctx context.Context, key string) ([]List, error) {
	parts := strings.Split(strings.TrimPrefix(key, k.x.keys.prefix), ":")
	if len(parts) != 4 {
		return nil, fmt.Errorf("%q is no key of a block list", key)
	}
	span, badSpan := strconv.ParseInt(parts[1], 10, 64)
	block, badBlock := strconv.Atoi(parts[2])
	value, badValue := strconv.ParseUint(parts[3], 16, 64)
	if err := errors.Join(badSpan, badBlock, badValue); err != nil {
		return nil, fmt.Errorf("%q is no key of a block list: %w", key, err)
	}
	if parts[0] == "s" {
		members, err := k.node.SRandMemberN(ctx, key, maxSetRead).Result()
		return []List{k.x.newList(listRef{span, block, value}, packMembers(members), maxSetRead*fingerprintBytes)}, err
	}
	fields, err := k.node.HGetAll(ctx, key).Result()
	var lists []List
	for field, packed := range fields {
		if len(field) == 2 { // the field without a name is padding, see add.lua
			low := uint64(binary.BigEndian.Uint16([]byte(field)))
			lists = append(lists, k.x.newList(listRef{span, block, value<<listFieldBits | low}, packed, maxListBytes))
		}
	}
	return lists, err
}

func (x *Index) newList(ref listRef, packed string, most int) List {
	l := List{From: time.UnixMilli(x.layout.start(ref.span)), Block: ref.block, Value: ref.value, Full: len(packed) >= most, span: ref.span}
	for ; len(packed) >= fingerprintBytes; packed = packed[fingerprintBytes:] {
		l.Fingerprints = append(l.Fingerprints, firstFingerprint(packed))
	}
	return l
}

// Hide makes an entry one that only a replay of its own record finds: it is no original any more, neither for articles that resemble
// it nor for exact repeats. The replay gets the verdict that it has. Hide returns false if the article has no verdict yet, or the entry
// has changed since it was read; read it again then.
func (x *Index) Hide(ctx context.Context, s StoredArticle) (hidden bool, err error) {
	if s.Verdict.Kind == 0 || s.Hidden {
		return s.Hidden, nil
	}
	e := entry{Article: s.Article}
	digest := string(e.hiddenDigest())
	bytes := s.place.entry[:ticketAt] + ticketBytes(maxTicket) + digest + s.place.entry[formAt:]
	err = x.patiently(ctx, "hide", func() error {
		if err := x.ensureScripts(ctx); err != nil {
			return err
		}
		value := strings.Replace(s.place.value, s.place.entry, bytes, 1)
		if s.Overflow { // its field is named by its digest
			pipe := x.client.Pipeline()
			pipe.HSet(ctx, s.place.key, s.place.field[:fingerprintBytes]+digest, bytes)
			if err := execute(ctx, pipe); err != nil {
				return err
			}
			value = ""
		}
		pipe := x.client.Pipeline()
		done := mendScript.EvalSha(ctx, pipe, []string{s.place.key}, s.place.field, s.place.value, value)
		if err := execute(ctx, pipe); err != nil {
			return err
		}
		n, _ := done.Val().(int64)
		hidden = n == 1
		return nil
	})
	return hidden, err
}

// Retract implements pipeline.Index: it hides the entry of an article. An exact repeat has no entry of its own, so there is nothing to hide.
func (x *Index) Retract(ctx context.Context, a *article.Article) error {
	call := retraction{a.Coordinates}
	defer x.health("redis", call, nil)
	for {
		done, err := x.retractOnce(ctx, a)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("redisindex: retract: %w", ctx.Err())
		case err != nil:
			x.health("redis", call, err) // it was tried for a minute
		case done:
			return nil
		}
		if err := x.sleep(ctx, retractPause); err != nil {
			return err
		}
	}
}

// retraction is a call of Retract that waits for Redis.
type retraction struct{ article.Coordinates }

func (r retraction) String() string { return "retraction of " + r.Coordinates.String() }

// retractPause is the time after which an entry is read again that another worker has changed meanwhile.
const retractPause = 50 * time.Millisecond

// retractOnce returns false if the entry was changed after it was read.
func (x *Index) retractOnce(ctx context.Context, a *article.Article) (done bool, err error) {
	found, err := x.Stored(ctx, a)
	if err != nil {
		return false, err
	}
	for _, s := range found {
		if s.Coordinates == a.Coordinates && !s.Hidden {
			return x.Hide(ctx, s)
		}
	}
	return true, nil
}

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
