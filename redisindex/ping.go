package redisindex

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// reloadTime is how long Ping waits to hear who the masters are now; after that, those last heard of count. A replica
// that swallows requests may be the one asked.
const reloadTime = time.Second

// Ping asks every server that claims need: of a cluster all masters, for a claim's keys lie on all of them. The cluster
// client's own PING asks any one node, and another if that does not answer.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.Ping(ctx).Err()
	}
	reload, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	return cluster.ForEachMaster(reload, func(_ context.Context, master *redis.Client) error { return master.Ping(ctx).Err() })
}
