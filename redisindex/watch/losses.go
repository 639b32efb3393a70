// Package watch says what has become of an index: that Redis has lost a part of it, or lacks memory (Losses),
// and that the consumer group has its articles in another index (Handover). Both compare Redis with what the
// group has committed (Label).
package watch

import (
	"context"
	"log/slog"
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

// AddWitness offers a stored article to the sample of those whose keys are looked at later. Its keys were
// written after the time written. lists are the block lists that lead to its field; it is called only if the
// article is taken.
func (l *Losses) AddWitness(written time.Time, field keyspace.FieldRef, lists func() []keyspace.ListRef) {
	l.witnesses.add(written, l.keys.Layout.Lifetime, field, lists)
}

// Monitor watches what Redis keeps of the index, until ctx ends. Every three seconds it compares the numbers
// that only grow (see watermarks), looks at a sample of the stored articles (see witnesses), and asks each
// master for evictions, memory and failed saves.
//
// A loss is logged, counted, and reported to warn. The function warn gets the kind of each warning with a
// text, and with an empty text when the warning is over. The warning of a loss is over when a refill has
// given all articles back, or one window after its latest evidence, because until then copies of lost
// articles can pass as unique. Other warnings are over when their cause is gone.
//
// Monitor does not report that Redis is away. The caller must call Recall once it has read the labels of the
// consumer group.
func (l *Losses) Monitor(ctx context.Context, warn func(kind, text string)) {
	m := newMonitor(l, warn)
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	m.round(ctx)
	for {
		select {
		case <-tick.C:
			m.round(ctx)
		case <-l.wake:
			m.checkLosses(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Label returns the id of the index and the highest numbers that Redis has shown, as one word. The caller
// stores the label outside of Redis, beside offsets whose articles the index holds, and gives it to Recall
// after a restart. The label is empty until Redis has shown all numbers.
func (l *Losses) Label() string {
	w := l.watermarks
	w.mu.Lock()
	defer w.mu.Unlock()
	least := w.markers[0].highest
	for _, m := range w.markers {
		least = min(least, m.highest)
	}
	if least == 0 {
		return ""
	}
	return Label{Index: w.index, Markers: len(w.markers), Seen: time.UnixMilli(least),
		Ticket: w.highest.Load()}.String()
}

// Recall takes the labels that processes of the consumer group have stored, in any order. Labels of other
// indexes are ignored. Until the first call of Recall, the index only reads the markers: if it raised one,
// another process could miss a loss.
func (l *Losses) Recall(labels []string) {
	w, now := l.watermarks, time.Now()
	w.mu.Lock()
	for _, text := range labels {
		n, ok := ParseLabel(text)
		if !ok || !n.Index.Same(w.index) || n.Markers != len(w.markers) || now.Sub(n.Seen) > w.lifetime {
			continue // of another index (a cluster has 64 markers), or all entries of that time have expired
		}
		w.raise(n.Ticket)
		for i := range w.markers {
			w.markers[i].highest = max(w.markers[i].highest, n.Seen.UnixMilli())
		}
		w.lastShown = now
	}
	first := !w.recalled
	w.recalled = true
	w.mu.Unlock()
	if first {
		w.checkNow()
	}
}
