package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
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
		if err := t.session.Send(ctx, "mark forgotten articles", t.client, func(pipe redis.Pipeliner) {
			var fields []any
			for _, a := range part {
				fields = append(fields, markOf(a), now)
			}
			pipe.HSet(ctx, key, fields...)
			pipe.Expire(ctx, key, 2*t.keys.Layout.Lifetime)
		}); err != nil {
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
		if err := t.session.Send(ctx, "read marks of forgotten articles", t.client, func(pipe redis.Pipeliner) {
			for i, a := range part {
				replies[i] = pipe.HGet(ctx, key, markOf(a))
			}
		}); err != nil {
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

// Release is the mark of a record that somebody releases: that publishes it again with pipeline.HeaderRelease.
type Release struct {
	// Done are the coordinates of the new record. They are zero until somebody has called EndRelease.
	Done article.Coordinates
	// From is the offset of the input partition from which on the new record stands, if it was published.
	From int64
}

// begun stands before the offset in a mark whose release has not ended.
const begun = "from "

// BeginRelease marks a record before it is published again, at the present end of its partition, and returns the mark.
// If there is a mark already, end is ignored. All indexes of the namespace share the marks. They live for two windows,
// and are lost together with all other data of Redis.
func (t *Tools) BeginRelease(ctx context.Context, at article.Coordinates, end int64) (r Release, err error) {
	key := keyspace.Released(t.keys.ID.Namespace)
	var mark *redis.StringCmd
	if err := t.session.Send(ctx, "mark a released record", t.client, func(pipe redis.Pipeliner) {
		pipe.HSetNX(ctx, key, at.String(), begun+strconv.FormatInt(end, 10))
		pipe.Expire(ctx, key, 2*t.keys.Layout.Lifetime)
		mark = pipe.HGet(ctx, key, at.String())
	}); err != nil {
		return r, err
	}
	if offset, pending := strings.CutPrefix(mark.Val(), begun); pending {
		r.From, err = strconv.ParseInt(offset, 10, 64)
	} else {
		r.Done, err = article.ParseCoordinates(mark.Val())
	}
	if err != nil {
		return r, fmt.Errorf("the field %s of the key %s is no mark of a release: %w", at, key, err)
	}
	return r, nil
}

// EndRelease names the record that was published in place of the one at the coordinates.
func (t *Tools) EndRelease(ctx context.Context, at, released article.Coordinates) error {
	return t.session.Send(ctx, "mark a released record", t.client, func(pipe redis.Pipeliner) {
		pipe.HSet(ctx, keyspace.Released(t.keys.ID.Namespace), at.String(), released.String())
	})
}
