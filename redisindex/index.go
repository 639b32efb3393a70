package redisindex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"echosieve/internal/crashpoint"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
)

// Index is the article index in Redis. It keeps no articles of its own, so any number of processes can share
// one namespace. Safe for concurrent use.
type Index struct {
	client  redis.UniversalClient
	cfg     Config
	layout  layout
	keys    keys
	buckets buckets
	metrics *metrics
	log     *slog.Logger
	health  func(component string, err error)
	loaded  atomic.Bool // the server knows the scripts, as far as we know
	life    *life
	watched *watchMetrics

	// Tests set these: the number of entries in a fingerprint's field, and the clock by which claims wait for each other.
	entries int
	now     func() time.Time
	sleep   func(ctx context.Context, d time.Duration) error
}

var _ pipeline.Index = (*Index)(nil)

// New returns an index over client, which stays the caller's to close. It does not dial: Redis may be away, and
// Claim waits for it. The health function hears "redis" and the outcome of each batch: nil, or why it failed.
// A nil reg leaves the metrics unregistered, a nil health is not called. Single retries are logged
// as debug lines: health hears the change of state.
func New(client redis.UniversalClient, cfg Config, reg prometheus.Registerer, log *slog.Logger, health func(component string, err error)) (*Index, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("redisindex: %w", err)
	}
	if health == nil {
		health = func(string, error) {}
	}
	l := newLayout(cfg)
	k := newKeys(cfg.Namespace, l)
	_, cluster := client.(*redis.ClusterClient)
	x := &Index{
		client: client, cfg: cfg, layout: l, keys: k, metrics: newMetrics(reg),
		log: log, health: health, life: newLife(k, l, cluster), watched: newWatchMetrics(reg),
		entries: maxEntries, now: time.Now, sleep: sleep,
	}
	x.buckets = newBuckets(x)
	return x, nil
}

// Claim implements pipeline.Index. Whatever Redis answers but a verdict (away, read-only, loading, out of
// memory, no rights), the batch is run again, after a pause that grows to about 5 seconds, until ctx ends. An id
// or signature that is too long is the caller's mistake and an error at once.
func (x *Index) Claim(ctx context.Context, claims []article.Article) ([]article.Verdict, error) {
	for i := range claims {
		if c := &claims[i]; len(c.ID) > article.MaxIDBytes || len(c.Signature) > article.MaxSignatureBytes {
			return nil, fmt.Errorf("redisindex: claim %s: id of %d bytes, signature of %d", c.Coordinates, len(c.ID), len(c.Signature))
		}
	}
	if len(claims) == 0 {
		return nil, nil
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = 20 * time.Millisecond
	pause.Multiplier = 2
	pause.MaxInterval = 5 * time.Second
	waits, lost := waits{}, 0
	var last error
	matches, err := backoff.Retry(ctx,
		func() ([]article.Verdict, error) {
			var m []article.Verdict
			m, last = x.attempt(ctx, claims, waits)
			if errors.Is(last, errLost) {
				if lost++; lost >= lostAttempts && ctx.Err() == nil {
					x.health("redis", Explain(last, x.cfg.base()))
				}
			}
			return m, last
		},
		backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, wait time.Duration) {
			x.metrics.retries.Inc()
			x.log.DebugContext(ctx, "claim failed, trying again", "err", err, "kind", classify(err), "wait", wait)
		}))
	if err != nil {
		if !errors.Is(last, err) {
			err = errors.Join(err, last)
		}
		return nil, fmt.Errorf("redisindex: claim: %w", err)
	}
	return matches, nil
}

// lostAttempts is the number of attempts of a call that may lose an entry before the index counts as unhealthy: an entry that expires
// while its batch is under way is lost once, but a server that evicts what it has just stored loses one each time.
const lostAttempts = 3

// immediateRuns bounds the runs of an attempt, so that a cause that comes back at once does not keep the servers busy.
const immediateRuns = 10

// attempt runs the batch until it ends with verdicts, or with an error that a pause may cure.
func (x *Index) attempt(ctx context.Context, claims []article.Article, waits waits) (matches []article.Verdict, err error) {
	for range immediateRuns {
		matches, err = x.run(ctx, claims, waits)
		if err == nil {
			x.health("redis", nil)
			return matches, nil
		}
		var again bool
		if again, err = x.cure(ctx, err); !again {
			break
		}
		x.metrics.retries.Inc()
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, errLookAgain): // the caller's end, and another worker's progress, are no signs of ill health
	case errors.Is(err, errLost): // told by a healthy server, and stored again by the next attempt
		x.metrics.errors.WithLabelValues(classify(err)).Inc()
	default:
		x.metrics.errors.WithLabelValues(classify(err)).Inc()
		x.health("redis", Explain(err, x.cfg.base()))
	}
	return nil, err
}

// cure removes the cause of an error of a run where that needs no pause, and says whether to run again at once. It
// returns the error that is left.
func (x *Index) cure(ctx context.Context, err error) (again bool, left error) {
	var damaged *damagedError
	switch {
	case ctx.Err() != nil:
		return false, err
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		x.loaded.Store(false)
		return true, err
	case errors.Is(err, errLookAgain):
		return true, err
	case errors.As(err, &damaged):
		failed := x.setAside(ctx, damaged)
		return failed == nil, errors.Join(failed, err)
	default:
		return false, err
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// afterStep names the places behind the steps of run.
var afterStep = [...]crashpoint.Point{
	crashpoint.AfterPlace, crashpoint.AfterInsert, crashpoint.AfterDraw, crashpoint.AfterTicket,
	crashpoint.AfterLook, crashpoint.AfterRead, crashpoint.AfterDecide,
}

func (x *Index) run(ctx context.Context, claims []article.Article, waits waits) ([]article.Verdict, error) {
	if !x.loaded.Load() {
		if err := loadScripts(ctx, x.client); err != nil {
			return nil, err
		}
		x.loaded.Store(true)
	}
	b := newBatch(x, claims, waits)
	// The order carries the proof (see the package comment): each step is acknowledged before the next begins.
	for i, step := range []func(context.Context) error{b.place, b.insert, b.draw, b.ticket, b.look, b.read, b.decide} {
		if err := step(ctx); err != nil {
			return nil, err
		}
		crashpoint.Here(afterStep[i])
	}
	return b.matches(), nil
}
