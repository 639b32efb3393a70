package learning

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/recipe"

	"github.com/prometheus/client_golang/prometheus"
)

// Health is told of what does not work. Its functions must not block.
type Health struct {
	// Report names a call that waits for Kafka, and why; nil: it waits no longer.
	Report func(component string, call fmt.Stringer, err error)
	// Warn sets the warning of a kind, for what works worse than it could; empty: it is gone.
	Warn func(component, kind, text string)
}

// Topic reads and writes the topic of learnt rows. Open it, then Run it beside the use of the other methods, which are
// safe for concurrent use.
type Topic struct {
	*learnt.Counter // of the articles that this process handles

	*stored
	readsOnly bool // it publishes nothing
	impatient bool // Open does not wait for brokers
	health    Health
	kick      chan struct{}

	waiting atomic.Int32 // calls of Await
	mu      sync.Mutex
	round   chan struct{} // closed when the topic was read to the end again
	began   time.Time     // when the request was sent that found the end
}

// call names what waits, for Health.
type call string

// String returns what waits.
func (c call) String() string { return string(c) }

// The component of health, and the kind of its warnings.
const component, kind = "kafka", "learnt"

// New returns the topic cfg.Topics.Learnt, whose rows it puts into rows. window is that of the index. It does not dial.
// The caller closes it. reg may be nil.
func New(cfg broker.Config, window time.Duration, rows *learnt.Rows, reg prometheus.Registerer, log *slog.Logger,
	health Health,
) (*Topic, error) {
	cluster, err := broker.New(cfg, cfg.Topics.Learnt)
	if err != nil {
		return nil, fmt.Errorf("learning: %w", err)
	}
	partition := cluster.Partition(cfg.Topics.Learnt, 0)
	partition.Limiter = broker.NewLimiter(1, cfg.MaxInFlightBytes, nil)
	return &Topic{
		Counter:   learnt.NewCounter(rows),
		stored:    &stored{partition, newBook(rows, rand.Text(), window), newMetrics(reg), log, wire.TopicID{}, -1},
		readsOnly: cfg.Topics.Shadow != "", health: health, kick: make(chan struct{}, 1), round: make(chan struct{}),
	}, nil
}

// Close closes the connections.
func (t *Topic) Close() { t.partition.Cluster.Close() }

// Open makes sure that the topic exists and is what it must be, and reads it to its end. It waits for brokers that do
// not answer until ctx ends. Another error says what to do.
func (t *Topic) Open(ctx context.Context) error {
	err := stopping.Until(ctx, 0, func(ctx context.Context) error {
		err := t.read(ctx)
		t.report(err)
		if errors.Is(err, errMissing) {
			return nil
		}
		if t.impatient {
			return stopping.Final(err)
		}
		return broker.Final(err)
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("learning: %w", broker.Explain(err))
	}
	return ctx.Err()
}

// Run reads what is new and publishes what was learnt, until ctx ends.
func (t *Topic) Run(ctx context.Context) {
	var retry stopping.Backoff
	for ctx.Err() == nil {
		published, err := false, t.read(ctx)
		if err == nil && !t.readsOnly {
			published, err = t.publish(ctx)
		}
		if ctx.Err() == nil {
			t.report(err)
		}
		switch {
		case err != nil:
			_ = retry.Wait(ctx)
			continue
		case published: // it reads what it wrote before it publishes more
			continue
		}
		retry.Reset()
		select {
		case <-ctx.Done():
		case <-t.kick:
		case <-time.After(hour / 60):
		}
	}
}

// Await returns when a record of this timestamp may be decided, and an error only when ctx ends. Records stamped
// beyond the horizon of now do not wait for it: they are counted.
func (t *Topic) Await(ctx context.Context, timestamp time.Time) error {
	if t.book.may(timestamp) {
		return nil
	}
	t.metrics.waits.Inc()
	asked := time.Now()
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	for !t.book.may(timestamp) {
		t.mu.Lock()
		round, began := t.round, t.began
		t.mu.Unlock()
		if t.book.below.Load() > 0 && !began.Before(asked) {
			t.metrics.ahead.Inc()
			return nil
		}
		t.hurry()
		select {
		case <-round:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// hurry makes Run read at once.
func (t *Topic) hurry() {
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// Learn implements pipeline.Learnt: it publishes a row soon, unless the sentence has one. What the row counts for
// follows when the broker has appended it.
func (t *Topic) Learn(row learnt.Row) (atOnce bool) {
	switch {
	case t.readsOnly:
	case t.book.learn(&row, time.Now()):
		t.hurry()
	default:
		t.metrics.rows.WithLabelValues(resultDropped).Inc()
	}
	return false
}

// read reads the topic to its end, and tells those who wait.
func (t *Topic) read(ctx context.Context) error {
	began, err := t.stored.read(ctx)
	if !began.IsZero() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.began = began
		close(t.round)
		t.round = make(chan struct{})
	}
	return err
}

// report says what does not work. Without records that wait it is a warning.
func (t *Topic) report(err error) {
	t.mu.Lock()
	waits := t.waiting.Load() > 0 || t.began.IsZero()
	t.mu.Unlock()
	text := ""
	if err != nil {
		t.metrics.errors.Inc()
		err = broker.Explain(err)
		text = "learnt sentences cannot be read or published: " + err.Error()
	}
	t.health.Warn(component, kind, text)
	if errors.Is(err, errMissing) {
		err = nil // records do not wait for it
	}
	if err == nil || waits {
		t.health.Report(component, call("learn "+t.partition.Topic), err)
	}
}

// Follow opens the topic for a command, which publishes nothing that it learns, and makes the recipe leave out what
// counts. It returns nil if nothing is learnt. Errors say what to do. The caller closes the topic; who decides longer
// than a moment runs it.
func Follow(ctx context.Context, cfg broker.Config, window time.Duration, made *recipe.Recipe) (*Topic, error) {
	if cfg.Topics.Learnt == "" {
		return nil, nil
	}
	cfg.CreateTopics = false
	rows := &learnt.Rows{}
	t, err := New(cfg, window, rows, nil, slog.New(slog.DiscardHandler), Health{
		Report: func(string, fmt.Stringer, error) {}, Warn: func(string, string, string) {}})
	if err != nil {
		return nil, err
	}
	t.readsOnly, t.impatient = true, true
	if err := t.Open(ctx); err != nil {
		t.Close()
		return nil, err
	}
	made.LeaveOut(rows)
	return t, nil
}

// Rows are the rows of the topic.
func (t *Topic) Rows() *learnt.Rows { return t.book.rows }

// Publish publishes rows of a command, such as vetoes, and returns when brokers have them.
func (t *Topic) Publish(ctx context.Context, rows []learnt.Row) error {
	for i := range rows {
		if !t.book.learn(&rows[i], time.Now()) {
			return fmt.Errorf("%d rows are more than one command publishes: %d", len(rows), maxPending)
		}
	}
	for {
		published, err := t.publish(ctx)
		if err != nil {
			return fmt.Errorf("learning: %w", broker.Explain(err))
		}
		if !published {
			return nil
		}
		if err := t.read(ctx); err != nil {
			return fmt.Errorf("learning: %w", broker.Explain(err))
		}
	}
}
