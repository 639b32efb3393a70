package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"
	"echosieve/internal/telemetry"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// sender publishes outputs to the output topics and waits until all in-sync replicas have them. Safe for concurrent use
// by different input partitions.
type sender struct {
	cluster  *broker.Cluster
	topics   [article.DestinationCount]string
	metrics  *broker.Metrics
	reporter *broker.Reporter

	mu  sync.Mutex
	own map[wire.TopicPartition]*writers // by input partition
}

// writers are the writers of one input partition, by output topic. Not safe for concurrent use, except that
// each writer may be used by another goroutine.
type writers [article.DestinationCount]*writer

// newWriters returns the writers of an input partition under the identities that the function returns.
func (s *sender) newWriters(input wire.TopicPartition, as func() identity) *writers {
	var ws writers
	for to, topic := range s.topics {
		if topic != "" {
			ws[to] = newWriter(s.cluster, as(), article.Destination(to), topic,
				func(partitions int) int { return int(outputPartition(input.Partition, partitions)) })
		}
	}
	return &ws
}

// ownWriters returns the writers of an input partition that have producer ids of their own. They are the same
// ones for each call, because they outlive group generations: a broker can still hold a batch of an earlier
// one.
func (s *sender) ownWriters(input wire.TopicPartition) *writers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own[input] == nil {
		s.own[input] = s.newWriters(input, func() identity { return newOwnIdentity(s.cluster) })
	}
	return s.own[input]
}

// fencedWriters returns the writers of an input partition that this process has taken over. They write only
// to the partitions that the take-over has fenced.
func (s *sender) fencedWriters(input wire.TopicPartition, own *ownership) *writers {
	ws := s.newWriters(input, func() identity { return own.identity() })
	for _, w := range ws {
		for _, e := range own.ends {
			if w != nil && w.topic == e.Topic {
				w.partition = int(e.Partition)
			}
		}
	}
	return ws
}

// Refused is an output that its topic will never take.
type Refused struct {
	Output *pipeline.Output
	Why    *record.RejectError
}

// outgoing is what goes into one topic: records, and the outputs that they were made of.
type outgoing struct {
	records []record.Record
	outputs []*pipeline.Output
}

// publish returns when every output is acknowledged, except those that their topics refuse permanently, which
// it returns. It publishes to the topics in parallel, with one Produce request for each topic and
// kafka.max_message_bytes. It tries until ctx ends and returns ctx's error, or ErrStandingLost or
// ErrTakenOver. Calls for one input partition follow each other, and the outputs of each topic keep their
// order.
func (s *sender) publish(ctx context.Context, ws *writers, input wire.TopicPartition, outputs []*pipeline.Output) (
	[]Refused, error,
) {
	var topics [article.DestinationCount]outgoing
	for _, o := range outputs {
		rec := record.Record{Key: o.Record.Key, Value: o.PublishedValue(), Headers: o.Headers, Time: o.Time}
		if o.OmitKey {
			rec.Key = o.Key
		}
		to := &topics[o.Destination]
		to.records, to.outputs = append(to.records, rec), append(to.outputs, o)
	}
	var refusals [article.DestinationCount][]Refused
	var errs [article.DestinationCount]error
	var wait sync.WaitGroup
	for to := range topics {
		if len(topics[to].records) > 0 {
			wait.Go(func() {
				refusals[to], errs[to] = s.publishTo(ctx, ws[to], input, topics[to])
				crashpoint.Here(crashpoint.BetweenPublishes)
			})
		}
	}
	wait.Wait()
	return slices.Concat(refusals[:]...), errors.Join(errs[:]...)
}

// publishTo sends the records through one writer, part after part. A part is sent only when the one before is
// acknowledged, so that a retry cannot change the order.
func (s *sender) publishTo(ctx context.Context, w *writer, input wire.TopicPartition, all outgoing) (refusals []Refused,
	err error,
) {
	ctx, span := telemetry.Start(ctx, "publish "+w.topic, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.Int("messaging.batch.message_count", len(all.records))))
	defer func() { telemetry.End(span, err) }()
	for part := range wire.Split(all.records, s.cluster.Config.MaxMessageBytes) {
		more, err := s.send(ctx, w, input, outgoing{part, all.outputs[:len(part)]})
		if err != nil {
			return nil, err
		}
		refusals, all.outputs = append(refusals, more...), all.outputs[len(part):]
	}
	return refusals, nil
}

// send publishes one record batch, as often as needed, except for the records that the topic refuses
// permanently, which it returns. The writer keeps a retry from repeating records.
func (s *sender) send(ctx context.Context, w *writer, input wire.TopicPartition, batch outgoing) ([]Refused, error) {
	part, subject := batch.records, w.topic+"<"+input.String()
	raw, err := wire.EncodeBatch(part, s.cluster.Codec)
	if err != nil {
		return nil, fmt.Errorf("consumer: publish to %s: %w", w.topic, err)
	}
	latest := slices.MaxFunc(part, func(a, b record.Record) int { return a.Time.Compare(b.Time) }).Time
	var retry stopping.Backoff
	for first := true; ; first = false {
		if err = w.write(ctx, raw, len(part), latest); err == nil {
			break
		}
		if ctx.Err() != nil {
			_ = w.giveUp() // who can write no more need not
			return nil, ctx.Err()
		}
		if errors.Is(err, ErrStandingLost) || errors.Is(err, ErrTakenOver) {
			return nil, err
		}
		if why := refusal(w.topic, err); why != nil && (len(part) > 1 || !batch.outputs[0].Smallest) {
			s.metrics.Errors.WithLabelValues(broker.OpPublish, broker.Kind(err)).Inc()
			s.reporter.OK(broker.OpPublish, subject)
			return s.sendHalves(ctx, w, input, batch, why)
		}
		if first {
			var cancel context.CancelFunc
			ctx, cancel = stopping.Retry(ctx) //nolint:fatcontext // once
			defer cancel()
		}
		s.reporter.Failed(broker.OpPublish, subject, fmt.Errorf("consumer: publish to %s: %w", w.topic, err))
		if err := retry.Wait(ctx); err != nil {
			_ = w.giveUp()
			return nil, err
		}
	}
	s.reporter.OK(broker.OpPublish, subject)
	s.metrics.Acknowledged.WithLabelValues(w.to.String()).Add(float64(len(part)))
	return nil, nil
}

// sendHalves goes on after a topic has refused a batch. Brokers refuse a batch as a whole, so halves are sent
// until single records are left: those that the topic refuses alone are returned.
func (s *sender) sendHalves(ctx context.Context, w *writer, input wire.TopicPartition, batch outgoing,
	why *record.RejectError,
) ([]Refused, error) {
	if err := w.giveUp(); err != nil {
		return nil, err
	}
	half := len(batch.records) / 2
	if half == 0 {
		return []Refused{{batch.outputs[0], why}}, nil
	}
	first, err := s.send(ctx, w, input, outgoing{batch.records[:half], batch.outputs[:half]})
	if err != nil {
		return nil, err
	}
	second, err := s.send(ctx, w, input, outgoing{batch.records[half:], batch.outputs[half:]})
	return append(first, second...), err
}
