package admin

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/test/redisserver"
)

// Remove deletes only the namespace: no key that begins alike, and none that the name would match as a pattern.
func TestRemove(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redisserver.Start(t).Addr})
	defer client.Close()
	ctx := t.Context()
	const namespace = `ev[a]l*\?`
	for i := range 2500 {
		require.NoError(t, client.Set(ctx, fmt.Sprintf("%s:b:%d", namespace, i), "x", 0).Err())
	}
	kept := []string{"eval:b:1", "eva", namespace + "2:b:1", namespace, "other"}
	for _, key := range kept {
		require.NoError(t, client.Set(ctx, key, "x", 0).Err())
	}
	require.NoError(t, Remove(ctx, client, namespace))
	left, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, kept, left)

	require.Error(t, Remove(ctx, client, ""), "that would be every key that begins with a colon")
	require.NoError(t, Remove(ctx, client, "nobody"))
}
