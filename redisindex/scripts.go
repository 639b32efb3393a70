package redisindex

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/find.lua
	findSource string
	//go:embed lua/place.lua
	placeSource string
	//go:embed lua/store.lua
	storeSource string
	//go:embed lua/ticket.lua
	ticketSource string
	//go:embed lua/decide.lua
	decideSource string
	//go:embed lua/withdraw.lua
	withdrawSource string
	//go:embed lua/mend.lua
	mendSource string
	//go:embed lua/life.lua
	lifeSource string
	//go:embed lua/counter.lua
	counterSource string

	placeScript  = redis.NewScript(fmt.Sprintf("local TABLE_BYTES = %d\n", tableBytes) + placeSource)
	storeScript  = redis.NewScript(findSource + storeSource)
	ticketScript = redis.NewScript(findSource + ticketSource)
	decideScript = redis.NewScript(findSource + decideSource)

	withdrawScript = redis.NewScript(findSource + withdrawSource)
	mendScript     = redis.NewScript(mendSource)
	lifeScript     = redis.NewScript(lifeSource)
	counterScript  = redis.NewScript(counterSource)

	scripts = []*redis.Script{placeScript, storeScript, ticketScript, decideScript, withdrawScript, mendScript}
)

// loadScripts makes the scripts known to the server, on a cluster to every master. Afterwards they are called
// by their hash; a server that has forgotten them (a restart, a failover, a new master) answers NOSCRIPT.
func loadScripts(ctx context.Context, client redis.UniversalClient) error {
	load := func(ctx context.Context, c redis.Scripter) error {
		for _, s := range scripts {
			if err := s.Load(ctx, c).Err(); err != nil {
				return fmt.Errorf("load scripts: %w", err)
			}
		}
		return nil
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return load(ctx, master)
		})
	}
	return load(ctx, client)
}
