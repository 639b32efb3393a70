package learning

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
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

	name      string
	readsOnly bool // it publishes nothing
	impatient bool // Open does not wait for brokers
	cluster   *broker.Cluster
	limiter   *broker.Limiter
	book      *book
	rows      *learnt.Rows
	metrics   *metrics
	health    Health
	log       *slog.Logger

	id     wire.TopicID // zero: not known yet
	offset int64        // the next to read; negative: from the start
	kick   chan struct{}

	mu      sync.Mutex
	round   chan struct{} // closed when the topic was read to the end again
	began   time.Time     // when the request was sent that found the end
	waiting int           // calls of Await
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
	return &Topic{
		Counter: learnt.NewCounter(rows), rows: rows, name: cfg.Topics.Learnt,
		readsOnly: cfg.Topics.Shadow != "", cluster: cluster,
		limiter: broker.NewLimiter(1, cfg.MaxInFlightBytes, nil), book: newBook(rows, rand.Text(), window),
		metrics: newMetrics(reg), health: health, log: log, offset: -1, kick: make(chan struct{}, 1),
		round: make(chan struct{}),
	}, nil
}

// Close closes the connections.
func (t *Topic) Close() { t.cluster.Close() }

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
	t.wait(1)
	defer t.wait(-1)
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

func (t *Topic) wait(more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting += more
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

// errMissing says that nothing is learnt until somebody creates the topic.
var errMissing = errors.New("the topic of learnt sentences does not exist: create it with one partition, " +
	"cleanup.policy=compact and message.timestamp.type=LogAppendTime, or set kafka.create_topics: true, or " +
	"detection.learn: false")

// read reads the topic to its end.
func (t *Topic) read(ctx context.Context) error {
	began := time.Now()
	switch err := t.find(ctx); {
	case errors.Is(err, errMissing):
		if t.offset >= 0 {
			t.begin("it was deleted")
		}
		t.reached(began) // what is not there is empty: a row that somebody appends later begins late enough
		return err
	case err != nil:
		return err
	}
	for {
		began = time.Now()
		res, release, err := t.cluster.FetchTail(ctx, t.limiter, t.name, 0, t.offset)
		if errors.Is(err, kafka.OffsetOutOfRange) {
			t.begin("it has lost records")
			if err := t.rewind(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("fetch %s at offset %d: %w", t.name, t.offset, err)
		}
		tail := wire.NewTail(res, t.offset, t.cluster.Config.MaxMessageBytes)
		err = t.takeAll(ctx, tail, began)
		release()
		t.offset = tail.Offset()
		if err != nil {
			return fmt.Errorf("fetch %s at offset %d: %w", t.name, t.offset, err)
		}
		if t.offset >= res.HighWatermark {
			t.reached(began)
			return nil
		}
	}
}

// takeAll takes the records of a response.
func (t *Topic) takeAll(ctx context.Context, tail *wire.Tail, now time.Time) error {
	for {
		batch, err := tail.Next()
		if err != nil || batch == nil {
			return err
		}
		if batch.Marker() {
			continue
		}
		err = batch.Records(t.limiter.WaitDecoder(ctx), func(r *record.Record) error {
			result := resultRead
			if !t.book.take(r, batch.Appended(), now) {
				result = resultRefused
			}
			t.metrics.rows.WithLabelValues(result).Inc()
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// reached says that the topic was read to the end that it had at began, or later.
func (t *Topic) reached(began time.Time) {
	t.book.confirm(began)
	t.rows.Forget(began.Add(-t.book.window))
	t.metrics.known.Set(float64(t.rows.Len()))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = began
	close(t.round)
	t.round = make(chan struct{})
}

// find finds out which topic has the name. If it is not the one that was read, all begins anew.
func (t *Topic) find(ctx context.Context) error {
	now, err := t.cluster.Topic(ctx, t.name)
	if errors.Is(err, kafka.UnknownTopicOrPartition) || errors.Is(err, protocol.ErrNoTopic) {
		if !t.cluster.Config.CreateTopics {
			return errMissing
		}
		if _, err = t.cluster.EnsureTopics(ctx, []string{t.name}); err == nil {
			now, err = t.cluster.Topic(ctx, t.name)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("topic %s: %w", t.name, err)
	case t.offset >= 0 && now.ID == t.id:
		return nil
	}
	if p := t.cluster.LackingRight(&now); p != nil {
		return p
	}
	if err := t.cluster.LearntFault(ctx, &now); err != nil {
		return err
	}
	if t.offset >= 0 {
		t.begin("it was deleted and made again")
	}
	t.id = now.ID
	return t.rewind(ctx)
}

// begin forgets what was learnt.
func (t *Topic) begin(because string) {
	t.log.Warn("the learnt sentences are gone, they are learnt again", "topic", t.name, "because", because)
	t.metrics.rows.WithLabelValues(resultLost).Inc()
	t.book.clear()
	t.offset = -1
}

// rewind goes to the first record.
func (t *Topic) rewind(ctx context.Context) error {
	first, _, err := t.cluster.Offsets(ctx, t.name, 0)
	if err == nil {
		t.offset = first
	}
	return err
}

// publishMost bounds what is published together.
const publishMost = 200

// publish publishes some rows, and says whether it did. After an error they may stand in the topic all the same: they
// come again under other keys.
func (t *Topic) publish(ctx context.Context) (published bool, err error) {
	records, done, err := t.book.next(publishMost, time.Now())
	if err != nil || len(records) == 0 {
		return false, err
	}
	defer func() { done(err) }()
	for part := range wire.Split(records, t.cluster.Config.MaxMessageBytes) {
		raw, err := wire.EncodeBatch(part, t.cluster.Codec)
		if err != nil {
			return false, err
		}
		if _, err := t.cluster.Wire.Produce(ctx, t.name, 0, raw); err != nil {
			return false, fmt.Errorf("publish to %s: %w", t.name, err)
		}
		t.metrics.rows.WithLabelValues(resultPublished).Add(float64(len(part)))
	}
	return true, nil
}

// report says what does not work. Without records that wait it is a warning.
func (t *Topic) report(err error) {
	t.mu.Lock()
	waits := t.waiting > 0 || t.began.IsZero()
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
		t.health.Report(component, call("learn "+t.name), err)
	}
}
