// Package admin is the operator's side of an index: it walks through all keys, finds and mends what look-ups
// would miss, gives lost articles back, and removes temporary indexes. The service needs none of it.
package admin

import (
	_ "embed"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Tools work on one index, also while services claim. They try a request again for a minute before they give
// up. Safe for concurrent use.
type Tools struct {
	index   *redisindex.Index
	client  redis.UniversalClient
	keys    keyspace.Keys
	session *connection.Session
}

// restore.lua finds entries as the scripts of claims do.
var (
	//go:embed lua/restore.lua
	restoreSource string
	restoreScript = redis.NewScript(keyspace.EntriesInLua + restoreSource)
)

// New returns the tools for an index.
func New(x *redisindex.Index) *Tools {
	keys := x.Keys()
	return &Tools{
		index: x, client: x.Client(), keys: keys,
		session: connection.NewSession(x.Client(), keys.ID.Namespace, restoreScript),
	}
}
