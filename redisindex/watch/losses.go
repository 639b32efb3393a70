// Package watch says what has become of an index: that Redis has lost a part of it, or lacks memory (Losses),
// and that the consumer group has its articles in another index (Handover). Both compare Redis with what the
// group has committed (Label).
package watch

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// Losses notices that Redis has lost a part of an index, and says so. Claims tell it what they have seen of
// Redis. Safe for concurrent use.
type Losses struct {
	*watermarks
	client    redis.UniversalClient
	session   *connection.Session
	keys      keyspace.Keys
	window    time.Duration
	log       *slog.Logger
	metrics   *lossMetrics
	witnesses witnesses
}

// NewLosses returns the losses of an index with this window. A nil reg leaves the metrics unregistered.
func NewLosses(client redis.UniversalClient, keys keyspace.Keys, window time.Duration, reg prometheus.Registerer,
	log *slog.Logger) *Losses {
	_, cluster := client.(*redis.ClusterClient)
	return &Losses{client: client, keys: keys, window: window, log: log, metrics: newLossMetrics(reg),
		watermarks: newWatermarks(keys, cluster),
		session:    connection.NewSession(client, keys.ID.Namespace, markerScript, counterScript)}
}

// HighestTicket is the highest ticket that Redis has drawn, as far as this process knows.
func (w *watermarks) HighestTicket() uint64 { return w.highest.Load() }

// Drawn takes over the tickets from first to last, which Redis has drawn. The argument before is HighestTicket
// when the request was sent. If first is not above before, the counter went back. A comparison with the highest
// ticket that is known when the reply arrives would raise false alarms: another claim may draw later and get its
// reply earlier.
func (w *watermarks) Drawn(before, first, last uint64) {
	w.raise(last)
	if first <= before && !w.fell.Swap(true) {
		w.checkNow()
	}
}

// SetAside takes over that damage was set aside.
func (w *watermarks) SetAside() {
	if !w.damaged.Swap(true) {
		w.checkNow()
	}
}

func (w *watermarks) raise(ticket uint64) {
	for known := w.highest.Load(); known < ticket && !w.highest.CompareAndSwap(known, ticket); {
		known = w.highest.Load()
	}
}

func (w *watermarks) checkNow() {
	select {
	case w.wake <- struct{}{}:
	default: // the monitor is woken already
	}
}

// AddWitness offers a stored article to the sample of those whose keys are looked at later. Its keys were written after
// the time written. lists are the block lists that lead to its field; it is called only if the article is taken. In a
// full sample the article takes the place of another one, the more rarely the more articles there were.
func (l *Losses) AddWitness(written time.Time, field keyspace.FieldRef, lists func() []keyspace.ListRef) {
	w, lifetime := &l.witnesses, l.keys.Layout.Lifetime
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen++
	place := len(w.kept)
	if place < witnessesKept {
		w.kept = append(w.kept, witness{})
	} else if place = rand.IntN(w.seen); place >= witnessesKept {
		return
	}
	w.kept[place] = witness{field, lists(), written.Add(lifetime - lifetime/50)} // clocks differ
}
