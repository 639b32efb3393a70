package admin

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// markBatch is the number of marks in one round trip.
const markBatch = 1000

// MarkForgotten notes that articles were forgotten, for all indexes of the namespace: a refill, or the index
// of a new recipe, would bring them back otherwise. A mark lives for two windows. It is lost together with
// all other data of Redis.
func (t *Tools) MarkForgotten(ctx context.Context, articles []article.Ref) error {
	key := keyspace.Forgotten(t.keys.ID.Namespace)
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	for part := range slices.Chunk(articles, markBatch) {
		err := t.session.Patiently(ctx, "mark forgotten articles", func() error {
			pipe := t.client.Pipeline()
			var fields []any
			for _, a := range part {
				fields = append(fields, markOf(a), now)
			}
			pipe.HSet(ctx, key, fields...)
			pipe.Expire(ctx, key, 2*t.keys.Layout.Lifetime)
			return connection.Execute(ctx, pipe)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AreForgotten says which of the articles were forgotten within the last two windows.
func (t *Tools) AreForgotten(ctx context.Context, articles []article.Ref) ([]bool, error) {
	key := keyspace.Forgotten(t.keys.ID.Namespace)
	var forgotten []bool
	for part := range slices.Chunk(articles, markBatch) {
		replies := make([]*redis.StringCmd, len(part))
		err := t.session.Patiently(ctx, "read marks of forgotten articles", func() error {
			pipe := t.client.Pipeline()
			for i, a := range part {
				replies[i] = pipe.HGet(ctx, key, markOf(a))
			}
			return connection.Execute(ctx, pipe)
		})
		if err != nil {
			return nil, err
		}
		for _, r := range replies {
			at, err := strconv.ParseInt(r.Val(), 10, 64)
			forgotten = append(forgotten, err == nil && time.Since(time.UnixMilli(at)) < 2*t.keys.Layout.Lifetime)
		}
	}
	return forgotten, nil
}

// markOf is the field of an article. It holds the id, too, because a topic that was created again uses the
// same coordinates again.
func markOf(a article.Ref) string { return a.String() + " " + a.ID }
