package redisindex

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Ping asks every server that claims need: of a cluster all masters, for a claim's keys lie on all of them. The cluster
// client's own PING asks any one node, and another if that does not answer.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.Ping(ctx).Err()
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		return master.Ping(ctx).Err()
	})
}
