package redisindex

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// Retract implements pipeline.Index: it hides the entry of an article. An exact repeat has no entry of its
// own, so there is nothing to hide.
func (x *Index) Retract(ctx context.Context, a *article.Article) error {
	call := retraction{a.Coordinates}
	defer x.health("redis", call, nil)
	for {
		found, err := x.Stored(ctx, a)
		done := err == nil
		for _, s := range found {
			if s.Coordinates == a.Coordinates && !s.Hidden {
				done, err = x.Hide(ctx, s)
				break
			}
		}
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
