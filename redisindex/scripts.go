package redisindex

import (
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/keyspace"
)

// The scripts. Redis' Lua hashes every byte of each string that a script makes or reads, so scripts must not
// build long values step by step.
var (
	//go:embed lua/add.lua
	addSource string
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
	//go:embed lua/prolong.lua
	prolongSource string

	addScript = redis.NewScript(fmt.Sprintf("local TABLE_BYTES = %d\n", keyspace.TableBytes) + prolongSource +
		addSource)
	storeScript    = redis.NewScript(keyspace.EntriesInLua + prolongSource + storeSource)
	ticketScript   = redis.NewScript(keyspace.EntriesInLua + ticketSource)
	decideScript   = redis.NewScript(keyspace.EntriesInLua + decideSource)
	withdrawScript = redis.NewScript(keyspace.EntriesInLua + withdrawSource)
	mendScript     = redis.NewScript(mendSource)

	scripts = []*redis.Script{addScript, storeScript, ticketScript, decideScript, withdrawScript, mendScript}
)
