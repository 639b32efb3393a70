package learning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// stored is the topic as brokers have it: it is read to its end into the book, and gets what the book has to publish.
// Not safe for concurrent use.
type stored struct {
	partition *broker.Partition
	book      *book
	metrics   *metrics
	log       *slog.Logger

	id     wire.TopicID // zero: not known yet
	offset int64        // the next to read; negative: from the start
}

// errMissing says that nothing is learnt until somebody creates the topic.
var errMissing = errors.New("the topic of learnt sentences does not exist: create it with one partition, " +
	"cleanup.policy=compact and message.timestamp.type=LogAppendTime, or set kafka.create_topics: true, or " +
	"detection.learn: false")

// read reads the topic to the end that it had at began, or later. began is zero if it has not come there. With
// errMissing it has: what is not there is empty, and a row that somebody appends later begins late enough.
func (t *stored) read(ctx context.Context) (began time.Time, err error) {
	asked := time.Now()
	switch err := t.find(ctx); {
	case errors.Is(err, errMissing):
		if t.offset >= 0 {
			t.begin("it was deleted")
		}
		return t.reached(asked), err
	case err != nil:
		return began, err
	}
	for {
		asked = time.Now()
		res, release, err := t.partition.Tail(ctx, t.offset)
		if errors.Is(err, kafka.OffsetOutOfRange) {
			t.begin("it has lost records")
			if err := t.rewind(ctx); err != nil {
				return began, err
			}
			continue
		}
		if err != nil {
			return began, fmt.Errorf("fetch %s at offset %d: %w", t.partition.Topic, t.offset, err)
		}
		tail := wire.NewTail(res, t.offset, t.partition.Cluster.Config.MaxMessageBytes)
		err = t.takeAll(ctx, tail, asked)
		release()
		t.offset = tail.Offset()
		if err != nil {
			return began, fmt.Errorf("fetch %s at offset %d: %w", t.partition.Topic, t.offset, err)
		}
		if t.offset >= res.HighWatermark {
			return t.reached(asked), nil
		}
	}
}

func (t *stored) takeAll(ctx context.Context, tail *wire.Tail, now time.Time) error {
	for {
		batch, err := tail.Next()
		if err != nil || batch == nil {
			return err
		}
		if batch.Marker() {
			continue
		}
		err = batch.Records(t.partition.Limiter.WaitDecoder(ctx), func(r *record.Record) error {
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

// reached says that the topic was read to the end that it had at began, or later. It returns began.
func (t *stored) reached(began time.Time) time.Time {
	t.book.confirm(began)
	t.book.rows.Forget(began.Add(-t.book.window))
	t.metrics.known.Set(float64(t.book.rows.Len()))
	return began
}

// find finds out which topic has the name. If it is not the one that was read, all begins anew.
func (t *stored) find(ctx context.Context) error {
	cluster, name := t.partition.Cluster, t.partition.Topic
	now, err := cluster.Topic(ctx, name)
	if errors.Is(err, kafka.UnknownTopicOrPartition) || errors.Is(err, protocol.ErrNoTopic) {
		if !cluster.Config.CreateTopics {
			return errMissing
		}
		if _, err = cluster.EnsureTopics(ctx, []string{name}); err == nil {
			now, err = cluster.Topic(ctx, name)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("topic %s: %w", name, err)
	case t.offset >= 0 && now.ID == t.id:
		return nil
	}
	if p := cluster.Config.Topics.LackingRight(&now); p != nil {
		return p
	}
	if err := broker.LearntFault(ctx, cluster, &now); err != nil {
		return err
	}
	if t.offset >= 0 {
		t.begin("it was deleted and made again")
	}
	t.id = now.ID
	return t.rewind(ctx)
}

// begin forgets what was learnt.
func (t *stored) begin(because string) {
	t.log.Warn("the learnt sentences are gone, they are learnt again", "topic", t.partition.Topic, "because", because)
	t.metrics.rows.WithLabelValues(resultLost).Inc()
	t.book.clear()
	t.offset = -1
}

func (t *stored) rewind(ctx context.Context) error {
	first, _, err := t.partition.Offsets(ctx)
	if err == nil {
		t.offset = first
	}
	return err
}

// publishMost bounds what is published together.
const publishMost = 200

// publish publishes some rows, and says whether it did. After an error they may stand in the topic all the same: they
// come again under other keys.
func (t *stored) publish(ctx context.Context) (published bool, err error) {
	records, done, err := t.book.next(publishMost, time.Now())
	if err != nil || len(records) == 0 {
		return false, err
	}
	defer func() { done(err) }()
	cluster, name := t.partition.Cluster, t.partition.Topic
	for part := range wire.Split(records, cluster.Config.MaxMessageBytes) {
		raw, err := wire.EncodeBatch(part, cluster.Codec)
		if err != nil {
			return false, err
		}
		if _, err := cluster.Wire.Produce(ctx, name, 0, raw); err != nil {
			return false, fmt.Errorf("publish to %s: %w", name, err)
		}
		t.metrics.rows.WithLabelValues(resultPublished).Add(float64(len(part)))
	}
	return true, nil
}
