package redisindex

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"echosieve/pipeline/article"

	"github.com/redis/go-redis/v9"
)

// keyError says that Redis cannot do the work because of what a key below our namespace holds: another program's value, as a rule.
// Only an operator can know whether the value is needed elsewhere.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return fmt.Sprintf("key %q: %v", e.key, e.err) }
func (e *keyError) Unwrap() error { return e.err }

// damagedError says that one of some fields of entries holds bytes that are no entry.
type damagedError struct {
	key    string
	fields []string
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("key %q, field %s: %v", e.key, hex.EncodeToString([]byte(e.fields[0])), errCorrupt)
}
func (e *damagedError) Unwrap() error { return errCorrupt }

// damaged is the error about an entry with the digest, which lies in the field or, of a crowded fingerprint, in a field of
// its own.
func (x *Index) damaged(f fieldRef, d article.Digest) error {
	return &damagedError{key: x.keys.entries(f), fields: []string{f.name(), f.name() + string(d[:])}}
}

// decodeField decodes the entries of a fingerprint's field.
func (x *Index) decodeField(f fieldRef, value string) (entries []*entry, err error) {
	for value != "" {
		e, rest, err := cutEntry(value)
		if err != nil {
			return nil, &damagedError{key: x.keys.entries(f), fields: []string{f.name()}}
		}
		entries = append(entries, &e)
		value = rest
	}
	return entries, nil
}

// aboutData adds the key to an error that comes from the value that the command met.
func aboutData(cmd redis.Cmder, err error) error {
	args, script := cmd.Args(), cmd.Name() == "evalsha"
	if len(args) < 2 || script && len(args) < 4 {
		return err
	}
	name := keyOf(cmd)
	switch text := err.Error(); {
	case script && strings.Contains(text, "ECHOSIEVE_DAMAGED"):
		fingerprint, digest := args[4].(string), args[5].([]byte)
		return &damagedError{key: name, fields: []string{fingerprint, fingerprint + string(digest)}}
	case strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "value is not an integer"), strings.Contains(text, "increment or decrement would overflow"):
		return &keyError{key: name, err: err}
	}
	return err
}

// keyOf is the key that a command is about: the first one.
func keyOf(cmd redis.Cmder) string {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3
	}
	return fmt.Sprint(cmd.Args()[at])
}

// setAside takes the damage out of the fields, so that their partition goes on: the damaged value is copied to a key of its own,
// which expires like an entry, and only the entries before the damage stay. Articles whose entries were behind it are forgotten:
// copies of them can pass as unique. Where another process was faster, nothing is left to do.
func (x *Index) setAside(ctx context.Context, d *damagedError) error {
	for _, field := range d.fields {
		value, err := x.client.HGet(ctx, d.key, field).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		intact := intactBytes(value)
		if intact == len(value) {
			continue
		}
		copied := x.keys.damaged(d.key, field)
		pipe := x.client.Pipeline()
		pipe.HSet(ctx, copied, "value", value)
		pipe.Expire(ctx, copied, x.layout.lifetime)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		pipe = x.client.Pipeline()
		mended := mendScript.EvalSha(ctx, pipe, []string{d.key}, field, value, value[:intact])
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		if n, _ := mended.Val().(int64); n == 1 {
			x.metrics.damaged.Inc()
			x.life.damage()
			x.log.ErrorContext(ctx, "a damaged entry was set aside: copies of the article that it held can pass as unique; did another program write into this namespace?",
				"key", d.key, "field", hex.EncodeToString([]byte(field)), "bytes", len(value)-intact, "copied_to", copied)
		}
	}
	return nil
}

// intactBytes is the length of the whole entries at the beginning of a field's value.
func intactBytes(value string) int {
	for rest := value; rest != ""; {
		e, after, err := cutEntry(rest)
		if err == nil && len(e.verdict) > 0 {
			_, err = decodeVerdict(e.verdict, e.ref)
		}
		if err != nil {
			return len(value) - len(rest)
		}
		rest = after
	}
	return len(value)
}
