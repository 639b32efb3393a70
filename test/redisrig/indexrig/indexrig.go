// Package indexrig makes indexes in Redis for tests of the packages below redisindex. It is not part of
// redisrig, which tests of redisindex itself import.
package indexrig

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// New returns an index without metrics and log.
func New(t testing.TB, client redis.UniversalClient, cfg keyspace.Config) *redisindex.Index {
	t.Helper()
	x, err := redisindex.New(client, cfg, nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	return x
}

// ClaimOne returns the verdict of one article.
func ClaimOne(t testing.TB, x *redisindex.Index, a article.Article) article.Verdict {
	t.Helper()
	v, err := x.Claim(t.Context(), []article.Article{a})
	require.NoError(t, err)
	return v[0]
}
