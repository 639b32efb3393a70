package redisindex

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/keyspace"
)

// setAside removes the damage from the fields, so that their partition goes on. It copies the damaged value
// to a separate key, which expires like an entry, and leaves only the entries before the damage. Articles
// whose entries were behind the damage are forgotten: copies of them can pass as unique. If another process
// has removed the damage already, nothing happens.
func (x *Index) setAside(ctx context.Context, d *keyspace.DamagedError) error {
	for _, field := range d.Fields {
		value, err := x.client.HGet(ctx, d.Key, field).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		intact := keyspace.IntactBytes(value)
		if intact == len(value) {
			continue
		}
		copied := x.keys.DamagedCopy(d.Key, field)
		pipe := x.client.Pipeline()
		pipe.HSet(ctx, copied, "value", value)
		pipe.Expire(ctx, copied, x.layout.Lifetime)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		pipe = x.client.Pipeline()
		mended := mendScript.EvalSha(ctx, pipe, []string{d.Key}, field, value, value[:intact])
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		if n, _ := mended.Val().(int64); n == 1 {
			x.metrics.damaged.Inc()
			x.losses.SetAside()
			x.log.ErrorContext(ctx,
				"a damaged entry was set aside: copies of the article that it held can pass as unique; did "+
					"another program write into this namespace?",
				"key", d.Key, "field", hex.EncodeToString([]byte(field)), "bytes", len(value)-intact, "copied_to",
				copied)
		}
	}
	return nil
}
