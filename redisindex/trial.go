package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// Trial claims two articles in a namespace below that of the configuration, and so tries every command that
// the service runs. They have one fingerprint: the entry of the second one is stored by a script.
func Trial(ctx context.Context, client redis.UniversalClient, cfg keyspace.Config) error {
	trial := cfg
	trial.Namespace += ":check"
	x, err := New(client, trial, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	x.keys.Layout.Lifetime = time.Minute
	// The articles differ each time, because an article that has its verdict does not pass all steps.
	offset := rand.Int64()
	claims := make([]article.Article, 2)
	for i := range claims {
		claims[i] = article.Article{
			Coordinates: article.Coordinates{Topic: "check", Partition: int32(i), Offset: offset}, ID: "check",
			Time:        time.Now(),
			Fingerprint: simhash.Fingerprint(offset),
		}
		binary.BigEndian.PutUint64(claims[i].Digest[:], uint64(offset)+uint64(i))
	}
	if _, err := newCall(x, claims).run(ctx); err != nil {
		return explain(fmt.Errorf("a trial claim failed: %w", err), client, cfg.BaseNamespace())
	}
	return nil
}
