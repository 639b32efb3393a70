package rig

import (
	"context"
	"slices"
	"sync"
	"time"

	"echosieve/test/ledger"
	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/traffic"
)

// Times of a round.
const (
	// SessionTimeout is that of the processes' consumer group.
	SessionTimeout = 6 * time.Second
	// ReadyTimeout bounds each wait for servers and processes that must become ready: far more than an idle
	// machine needs.
	ReadyTimeout = 3 * time.Minute

	Window      = 168 * time.Hour
	memoryLimit = 400 << 20       // as GOMEMLIMIT of deploy/k8s/base
	stopTimeout = 2 * time.Minute // from SIGTERM to the end of a process
)

// Names are the names of a round's topics. Topic is the first input; it is also the consumer group, the namespace in
// Redis and the prefix of the output topics.
type Names struct{ Topic string }

// Inputs are the input topics. Articles go to them in turn.
func (n Names) Inputs() []string { return []string{n.Topic, n.Topic + "-wire"} }

// Topics are the output topics.
func (n Names) Topics() ledger.Topics {
	return ledger.Topics{Unique: n.Topic + "-unique", Duplicate: n.Topic + "-duplicate", Dead: n.Topic + "-dead"}
}

// ChangesTopic is where processes of the role of stories publish what is new in versions.
func (n Names) ChangesTopic() string { return n.Topic + "-changes" }

// StoriesTopic is where processes of the role of stories publish.
func (n Names) StoriesTopic() string { return n.Topic + "-stories" }

// LabelsTopic is where labels of stories are published.
func (n Names) LabelsTopic() string { return n.Topic + "-labels" }

// Notes are the broken promises that were noted so far. They are safe for concurrent use.
type Notes struct {
	noting sync.Mutex
	noted  ledger.Violations
}

// Violate notes a broken promise.
func (n *Notes) Violate(kind ledger.Kind, format string, args ...any) {
	n.noting.Lock()
	defer n.noting.Unlock()
	n.noted.Add(kind, format, args...)
}

// Violations returns what was noted.
func (n *Notes) Violations() ledger.Violations {
	n.noting.Lock()
	defer n.noting.Unlock()
	return slices.Clone(n.noted)
}

// Round is the state of one round that faults read and change: the service processes, their traffic and the
// violations found so far. Its methods are safe for concurrent use.
type Round struct {
	Fleet
	Feed    *traffic.Feed
	Watcher *traffic.Watcher
	Summary *Summary
	// BreakingKafka is held while a fault of Kafka lasts, and while a transaction is open: see traffic.Transactions.
	BreakingKafka sync.Mutex
	// Released has the coordinates of the input records whose drop was taken back: each gives one more input record.
	Released sync.Map

	skipped sync.Map // numbers of records that processes, by their names, found published
}

// WaitReady waits until all processes are ready. It returns false if they are not within ReadyTimeout.
func (r *Round) WaitReady(ctx context.Context) bool {
	return len(r.awaitState(ctx, r.witnesses(), ReadyTimeout,
		func(ready bool, _ map[string]bool) bool { return ready })) == 0
}

// WatchSkipped notes how many records the processes find published by an earlier owner, until ctx ends.
func (r *Round) WatchSkipped(ctx context.Context) {
	for process.Pause(ctx, time.Second) == nil {
		for _, p := range r.Running() {
			if n, err := p.HTTP.Counter(ctx, "echosieve_consumer_already_acknowledged_records_total"); err == nil {
				before, _ := r.skipped.LoadOrStore(p.Name, 0)
				r.skipped.Store(p.Name, max(before.(int), n)) //nolint:forcetypeassert // nothing else is stored
			}
		}
	}
}

// Skipped is the number of records that processes have found published.
func (r *Round) Skipped() (n int) {
	r.skipped.Range(func(_, one any) bool {
		n += one.(int) //nolint:forcetypeassert // see WatchSkipped
		return true
	})
	return n
}
