package redisindex

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Stored returns the entries with the fingerprint of an article in the slices within reach of its time, and
// the overflow entry with its digest. It needs Fingerprint and Time of the article, and for the overflow
// entry Digest. It writes nothing.
func (x *Index) Stored(ctx context.Context, a *article.Article) (found []keyspace.StoredArticle, err error) {
	type place struct {
		slice      int64
		key, field string
		value      *redis.StringCmd
	}
	var places []place
	for slice, last := x.keys.Layout.Reach(keyspace.WindowTime(a.Time)); slice <= last; slice++ {
		f := keyspace.FieldRef{Slice: slice, Fingerprint: a.Fingerprint}
		for _, overflow := range []string{"", string(a.Digest[:])} {
			places = append(places, place{slice: slice, key: x.keys.Entries(f), field: f.Name() + overflow})
		}
	}
	err = x.session.Patiently(ctx, "stored articles", func() error {
		found = nil
		pipe := x.client.Pipeline()
		for i, p := range places {
			places[i].value = pipe.HGet(ctx, p.key, p.field)
		}
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		for _, p := range places {
			articles, bad := x.keys.Layout.InField(p.key, p.slice, p.field, p.value.Val())
			if bad {
				return &keyspace.DamagedError{Key: p.key, Fields: []string{p.field}}
			}
			found = append(found, articles...)
		}
		return nil
	})
	return found, err
}

// Hide makes an entry one that only a replay of its own record finds: it is no original any more, neither for
// articles that resemble it nor for exact repeats. The replay gets the verdict that it has. Hide returns
// false if the article has no verdict yet, or the entry has changed since it was read; read it again then.
func (x *Index) Hide(ctx context.Context, s keyspace.StoredArticle) (hidden bool, err error) {
	if s.Verdict.Kind == 0 || s.Hidden {
		return s.Hidden, nil
	}
	entry, digest := s.AsHidden()
	err = x.session.Patiently(ctx, "hide", func() error {
		if err := x.session.EnsureScripts(ctx); err != nil {
			return err
		}
		value := strings.Replace(s.At.Value, s.At.Entry, entry, 1)
		if s.Overflow { // its field is named by its digest
			pipe := x.client.Pipeline()
			pipe.HSet(ctx, s.At.Key, s.At.Field[:keyspace.FieldBytes]+digest, entry)
			if err := connection.Execute(ctx, pipe); err != nil {
				return err
			}
			value = ""
		}
		pipe := x.client.Pipeline()
		done := mendScript.EvalSha(ctx, pipe, []string{s.At.Key}, s.At.Field, s.At.Value, value)
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		hidden, _ = done.Bool()
		return nil
	})
	return hidden, err
}

// Retract implements pipeline.Index: it hides the entry of an article. An exact repeat has no entry of its
// own, so there is nothing to hide.
func (x *Index) Retract(ctx context.Context, a *article.Article) error {
	call := retraction{a.Coordinates}
	defer x.health("redis", call, nil)
	err := stopping.Until(ctx, 0, func(ctx context.Context) error {
		found, err := x.Stored(ctx, a)
		for _, s := range found {
			if s.Coordinates == a.Coordinates && !s.Hidden {
				var hidden bool
				if hidden, err = x.Hide(ctx, s); err == nil && !hidden {
					return errors.New("the entry has changed") // another worker did that, since it was read
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			x.health("redis", call, err) // it was tried for a minute
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("redisindex: retract: %w", err)
	}
	return nil
}

// retraction is a call of Retract that waits for Redis.
type retraction struct{ article.Coordinates }

func (r retraction) String() string { return "retraction of " + r.Coordinates.String() }
