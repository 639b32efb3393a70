package redisindex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/redisindex/watch"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// Index is the article index in Redis. It holds no articles in memory, so any number of processes can share
// one namespace. Safe for concurrent use.
type Index struct {
	client  redis.UniversalClient
	cfg     keyspace.Config
	keys    keyspace.Keys
	metrics *metrics
	log     *slog.Logger
	health  func(component string, call fmt.Stringer, err error)
	policy  atomic.Pointer[article.Policy]
	session *connection.Session
	losses  *watch.Losses
	// slices are those that existed when Redis was last asked, so that look-ups need no round trip before them that
	// asks. A slice that has expired meanwhile is looked up in vain once.
	slices *lru.Cache[int64, struct{}]

	// Tests replace the clock by which articles wait for the verdicts of their originals.
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
}

var _ pipeline.Index = (*Index)(nil)

// maxKnownSlices bounds the memory. A window has few slices; records with senseless timestamps may name many.
const maxKnownSlices = 1024

// New returns an index that uses client; the caller closes client. New does not dial: Redis may be away, and
// Claim waits for it.
//
// The function health learns which calls of Claim wait for Redis: it gets "redis", the call, which names its
// articles, and the reason, after each failed attempt of the call; and a nil error when this call waits no
// longer. Calls that never fail are not reported. A nil health is not called. A nil reg leaves the metrics
// unregistered. Single retries are logged at level debug only, because health reports when the state changes.
func New(client redis.UniversalClient, cfg keyspace.Config, reg prometheus.Registerer, log *slog.Logger,
	health func(component string, call fmt.Stringer, err error)) (*Index, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("redisindex: %w", err)
	}
	if health == nil {
		health = func(string, fmt.Stringer, error) {}
	}
	k := keyspace.New(cfg, databaseOf(client))
	x := &Index{
		client: client, cfg: cfg, keys: k, metrics: newMetrics(reg), log: log, health: health,
		losses:  watch.NewLosses(client, k, cfg.Window, reg, log),
		session: connection.NewSession(client, cfg.BaseNamespace(), scripts...),
		now:     time.Now, sleep: stopping.Wait,
	}
	x.slices, _ = lru.New[int64, struct{}](maxKnownSlices) // fails for sizes below 1 only
	x.SetPolicy(cfg.Policy)
	return x, nil
}

// Client returns the client that the index uses.
func (x *Index) Client() redis.UniversalClient { return x.client }

// Keys says which index this is, and where it keeps its data.
func (x *Index) Keys() keyspace.Keys { return x.keys }

// Losses notices that Redis has lost a part of the index.
func (x *Index) Losses() *watch.Losses { return x.losses }

// SetPolicy replaces the policy of the configuration. It touches only articles that have no verdict yet. Safe
// for concurrent use.
func (x *Index) SetPolicy(p article.Policy) { x.policy.Store(&p) }

// databaseOf returns the number of the database that a client uses.
func databaseOf(client redis.UniversalClient) int {
	if server, ok := client.(*redis.Client); ok {
		return server.Options().DB
	}
	return 0 // a cluster has no other
}

// errLost says that an entry disappeared during its claim: it expired, was evicted, or was lost in a
// failover. If the claim is run again, it stores the entry again.
var errLost = errors.New("an entry was lost before its verdict")

// errTicketChanged says that a ticket was withdrawn, or withdrawn and drawn again, since the claim looked up.
// The claim is run again at once.
var errTicketChanged = errors.New("a ticket was withdrawn")

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
		return &diag.Problem{Cause: "Redis loses entries as soon as they are stored",
			Remedy: "CONFIG SET maxmemory-policy noeviction, raise maxmemory, and make sure that no other program " +
				"deletes keys of " + namespace, Err: err}
	case errors.Is(err, errTicketChanged):
		return &diag.Problem{Cause: "tickets of the originals are withdrawn again and again",
			Remedy: "see why the other processes decide nothing: their /readyz and logs", Err: err}
	default:
		return connection.Explain(err, client, namespace)
	}
}
