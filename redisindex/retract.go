package redisindex

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

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
		n, _ := done.Val().(int64)
		hidden = n == 1
		return nil
	})
	return hidden, err
}

// errChanged says that another worker has changed an entry since it was read.
var errChanged = errors.New("the entry has changed")

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
					return errChanged
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
