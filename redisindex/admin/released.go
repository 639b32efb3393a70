package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

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
	var mark string
	err = t.session.Patiently(ctx, "mark a released record", func() error {
		pipe := t.client.Pipeline()
		pipe.HSetNX(ctx, key, at.String(), begun+strconv.FormatInt(end, 10))
		pipe.Expire(ctx, key, 2*t.keys.Layout.Lifetime)
		now := pipe.HGet(ctx, key, at.String())
		err := connection.Execute(ctx, pipe)
		mark = now.Val()
		return err
	})
	if err != nil {
		return r, err
	}
	if offset, pending := strings.CutPrefix(mark, begun); pending {
		r.From, err = strconv.ParseInt(offset, 10, 64)
	} else {
		r.Done, err = article.ParseCoordinates(mark)
	}
	if err != nil {
		return r, fmt.Errorf("the field %s of the key %s is no mark of a release: %w", at, key, err)
	}
	return r, nil
}

// EndRelease names the record that was published in place of the one at the coordinates.
func (t *Tools) EndRelease(ctx context.Context, at, released article.Coordinates) error {
	return t.session.Patiently(ctx, "mark a released record", func() error {
		pipe := t.client.Pipeline()
		pipe.HSet(ctx, keyspace.Released(t.keys.ID.Namespace), at.String(), released.String())
		return connection.Execute(ctx, pipe)
	})
}
