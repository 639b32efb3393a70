package redisindex

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The scripts. Redis' Lua hashes every byte of each string that a script makes or reads, so scripts must not build long values step by
// step.
var (
	//go:embed lua/find.lua
	findSource string
	//go:embed lua/add.lua
	addSource string
	//go:embed lua/store.lua
	storeSource string
	//go:embed lua/restore.lua
	restoreSource string
	//go:embed lua/lease.lua
	leaseSource string
	//go:embed lua/ticket.lua
	ticketSource string
	//go:embed lua/decide.lua
	decideSource string
	//go:embed lua/withdraw.lua
	withdrawSource string
	//go:embed lua/mend.lua
	mendSource string
	//go:embed lua/marker.lua
	markerSource string
	//go:embed lua/counter.lua
	counterSource string

	addScript      = redis.NewScript(fmt.Sprintf("local TABLE_BYTES = %d\n", tableBytes) + addSource)
	storeScript    = redis.NewScript(findSource + storeSource)
	restoreScript  = redis.NewScript(findSource + restoreSource)
	leaseScript    = redis.NewScript(leaseSource)
	ticketScript   = redis.NewScript(findSource + ticketSource)
	decideScript   = redis.NewScript(findSource + decideSource)
	withdrawScript = redis.NewScript(findSource + withdrawSource)
	mendScript     = redis.NewScript(mendSource)
	markerScript   = redis.NewScript(markerSource)
	counterScript  = redis.NewScript(counterSource)

	scripts = []*redis.Script{addScript, storeScript, restoreScript, leaseScript, ticketScript, decideScript, withdrawScript, mendScript}
)

// loadScripts loads the scripts into the server; on a cluster into every master. Afterwards they are called by their hash. A server
// that does not have them (after a restart, a failover, or as a new master) replies NOSCRIPT, and Index.repair has them loaded
// again. The monitor loads its own two scripts.
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
