package redisindex

import (
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/base/diag"
	"echosieve/redisindex/connection"
)

// errLost says that an entry disappeared during its claim: it expired, was evicted, or was lost in a failover. If the claim is run again,
// it stores the entry again.
var errLost = errors.New("an entry was lost before its verdict")

// errorKinds are the values of the metric label kind.
var errorKinds = append(slices.Clone(connection.Kinds), "lost")

// classify returns the kind of an error of a run: one of errorKinds.
func classify(err error) string {
	if errors.Is(err, errLost) {
		return "lost"
	}
	return connection.Kind(err)
}

// explain returns the *diag.Problem behind an error of a run, as connection.Explain does.
func explain(err error, client redis.UniversalClient, namespace string) error {
	switch {
	case errors.Is(err, errLost):
		return &diag.Problem{Cause: "Redis loses entries as soon as they are stored", Remedy: "CONFIG SET maxmemory-policy noeviction, raise maxmemory, and make sure that no other program deletes keys of " + namespace, Err: err}
	case errors.Is(err, errTicketChanged):
		return &diag.Problem{Cause: "tickets of the originals are withdrawn again and again", Remedy: "see why the other processes decide nothing: their /readyz and logs", Err: err}
	default:
		return connection.Explain(err, client, namespace)
	}
}
