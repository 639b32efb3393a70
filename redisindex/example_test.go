package redisindex_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// The second of two articles with near fingerprints is a copy of the first.
func ExampleIndex_Claim() {
	server, err := miniredis.Run() // in a program: a Redis server
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	cfg := keyspace.DefaultConfig()
	cfg.Namespace, cfg.Window = "example", 24*time.Hour
	cfg.Search = article.Search{Rule: article.Rule{MaxDistance: 3}, Blocks: 4}
	index, err := redisindex.New(client, cfg, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		panic(err)
	}
	verdicts, err := index.Claim(context.Background(), []article.Article{
		{Coordinates: article.Coordinates{Topic: "news", Offset: 1}, ID: "a", Time: time.Now(), Fingerprint: 0xCAFE,
			Digest: article.Digest{1}},
		{Coordinates: article.Coordinates{Topic: "news", Offset: 2}, ID: "b", Time: time.Now(), Fingerprint: 0xCAFF,
			Digest: article.Digest{2}},
	})
	if err != nil {
		panic(err)
	}
	for _, v := range verdicts {
		fmt.Println(v.Kind, v.Root.ID)
	}
	// Output:
	// unique a
	// near a
}
