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

// Trial claims one article in a namespace below that of the configuration, and so tries every command that the service runs.
func Trial(ctx context.Context, client redis.UniversalClient, cfg keyspace.Config) error {
	trial := cfg
	trial.Namespace += ":check"
	x, err := New(client, trial, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	x.layout.Lifetime = time.Minute
	// The article differs each time, because an article that has its verdict does not pass all steps.
	offset := rand.Int64()
	claim := article.Article{
		Coordinates: article.Coordinates{Topic: "check", Offset: offset}, ID: "check", Time: time.Now(),
		Fingerprint: simhash.Fingerprint(offset),
	}
	binary.BigEndian.PutUint64(claim.Digest[:], uint64(offset))
	if _, err := x.run(ctx, []article.Article{claim}, newCall(x, nil)); err != nil {
		return explain(fmt.Errorf("a trial claim failed: %w", err), client, cfg.BaseNamespace())
	}
	return nil
}
