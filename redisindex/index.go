package redisindex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"echosieve/internal/crashpoint"
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
	layout  keyspace.Layout
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
		client: client, cfg: cfg, layout: k.Layout, keys: k, metrics: newMetrics(reg),
		log: log, health: health, losses: watch.NewLosses(client, k, cfg.Window, reg, log),
		now: time.Now, sleep: stopping.Wait,
	}
	x.session = connection.NewSession(client, cfg.BaseNamespace(), scripts...)
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

// runsPerAttempt bounds the runs of an attempt that follow each other without a pause. It limits the load on
// the servers if the cause of a repetition returns at once.
const runsPerAttempt = 10

// Claim implements pipeline.Index. As long as Redis does not serve the claim (it is away, read-only, loading,
// out of memory, or refuses a command), Claim runs the claim again, after pauses that grow to 3
// seconds, until ctx ends or, if ctx comes from stopping.With, soon after the process has begun to stop. An id
// or signature that is too long is a mistake of the caller: Claim returns an error at once.
func (x *Index) Claim(ctx context.Context, articles []article.Article) ([]article.Verdict, error) {
	for i := range articles {
		if a := &articles[i]; len(a.ID) > article.MaxIDBytes || len(a.Signature) > article.MaxSignatureBytes {
			return nil, fmt.Errorf(
				"redisindex: claim %s: the id has %d bytes and the signature %d, at most %d and %d are allowed",
				a.Coordinates, len(a.ID), len(a.Signature), article.MaxIDBytes, article.MaxSignatureBytes)
		}
	}
	if len(articles) == 0 {
		return nil, nil
	}
	c := newCall(x, articles)
	defer c.endWait()
	var verdicts []article.Verdict
	err := stopping.Until(ctx, 0, func(ctx context.Context) (err error) {
		if verdicts, err = x.attempt(ctx, articles, c); err != nil && ctx.Err() == nil {
			x.metrics.retries.Inc()
			x.log.DebugContext(ctx, "claim failed, trying again", "err", err, "kind", classify(err))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("redisindex: claim: %w", err)
	}
	return verdicts, nil
}

// attempt runs the claim until it has verdicts, or until it fails with an error that needs a pause.
func (x *Index) attempt(ctx context.Context, articles []article.Article, c *call) (verdicts []article.Verdict,
	err error) {
	for range runsPerAttempt {
		verdicts, err = x.run(ctx, articles, c)
		if err == nil {
			return verdicts, nil
		}
		var again bool
		if again, err = x.Repair(ctx, err); !again {
			break
		}
		x.metrics.retries.Inc()
	}
	if ctx.Err() != nil {
		return nil, err // the caller gave up
	}
	if !errors.Is(err, errTicketChanged) { // then another worker made progress
		x.metrics.errors.WithLabelValues(classify(err)).Inc()
	}
	c.waits = true
	x.health("redis", c, explain(err, x.client, x.cfg.BaseNamespace()))
	return nil, err
}

// call is one call of Claim. It outlives the runs of its claim.
type call struct {
	x         *Index
	articles  []article.Article
	undecided map[keyspace.Identity]time.Time // since when the call waits for the verdict of an article
	waits     bool                            // as far as health knows
}

func newCall(x *Index, articles []article.Article) *call {
	return &call{x: x, articles: articles, undecided: map[keyspace.Identity]time.Time{}}
}

// String says whose work the call is.
func (c *call) String() string {
	return fmt.Sprintf("verdicts from %s on (articles: %d)", c.articles[0], len(c.articles))
}

// endWait reports that the call no longer waits for Redis.
func (c *call) endWait() {
	if c.waits {
		c.waits = false
		c.x.health("redis", c, nil)
	}
}

// Repair removes the cause of a run's error where that needs no pause. It says whether to run the claim again
// at once, and returns the error that is left.
func (x *Index) Repair(ctx context.Context, err error) (again bool, left error) {
	var damaged *keyspace.DamagedError
	switch {
	case ctx.Err() != nil:
		return false, err
	case x.session.LoadAgain(err), errors.Is(err, errTicketChanged):
		return true, err
	case errors.As(err, &damaged):
		failed := x.setAside(ctx, damaged)
		return failed == nil, errors.Join(failed, err)
	default:
		return false, err
	}
}

// crashPoints are passed after the steps, in their order.
var crashPoints = [...]crashpoint.Point{
	crashpoint.AfterStoreLists, crashpoint.AfterStoreEntries, crashpoint.AfterDrawTickets,
	crashpoint.AfterLookUp, crashpoint.AfterFetchEntries, crashpoint.AfterDecide,
}

// StoreLists adds articles to their block lists and registers their slices, as the first step of a claim
// does. It is for tools.
func (x *Index) StoreLists(ctx context.Context, articles []article.Article) error {
	err := x.session.EnsureScripts(ctx)
	if err == nil {
		err = newClaim(x, articles, nil).storeLists(ctx)
	}
	x.session.LoadAgain(err)
	return err
}

// run runs the six steps once. The index is correct only because Redis has acknowledged each step before the
// next step begins (see the package comment).
func (x *Index) run(ctx context.Context, articles []article.Article, by *call) ([]article.Verdict, error) {
	if err := x.session.EnsureScripts(ctx); err != nil {
		return nil, err
	}
	start, c := time.Now(), newClaim(x, articles, by)
	for i, step := range c.steps() {
		if err := step(ctx); err != nil {
			return nil, err
		}
		crashpoint.Here(crashPoints[i])
	}
	c.addWitnesses(start)
	return c.verdicts(), nil
}

// steps returns the steps in their order.
func (c *claim) steps() [len(crashPoints)]func(context.Context) error {
	return [...]func(context.Context) error{c.storeLists, c.storeEntries, c.drawTickets, c.lookUp, c.fetchEntries,
		c.decide}
}

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
