package delivery

import (
	"cmp"
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

// newWriters returns the writers of an input partition under the identities that the function returns.
func (d *Delivery) newWriters(input wire.TopicPartition, as func() identity) *writers {
	var ws writers
	for to, topic := range d.cluster.Config.Topics.Destinations() {
		if topic != "" {
			ws[to] = &writer{cluster: d.cluster, identity: as(), to: article.Destination(to), topic: topic,
				input: input.Partition, partition: -1, end: -1}
		}
	}
	return &ws
}

// ownWriters returns the writers of an input partition that have producer ids of their own. They are the same
// ones for each call, because they outlive group generations: a broker can still hold a batch of an earlier
// one.
func (d *Delivery) ownWriters(input wire.TopicPartition) *writers {
	ws, _ := d.own.LoadOrStore(input, d.newWriters(input, func() identity { return newOwnIdentity(d.cluster) }))
	return ws.(*writers)
}

// fencedWriters returns the writers of an input partition that this process has taken over. They write only
// to the partitions that the take-over has fenced.
func (d *Delivery) fencedWriters(input wire.TopicPartition, own *ownership) *writers {
	ws := d.newWriters(input, func() identity { return own.identity() })
	for _, w := range ws {
		for _, e := range own.ends {
			if w != nil && w.topic == e.Topic {
				w.partition = int(e.Partition)
			}
		}
	}
	return ws
}

// Publish returns when every output is acknowledged by all in-sync replicas, except those that their topics refuse
// permanently, which it returns in the order of their input. It publishes to the topics in parallel, with one Produce
// request for each topic and kafka.max_message_bytes, and tries until ctx ends. The error is ctx's, or ErrStandingLost
// or ErrTakenOver, after which the owner can publish no more. The outputs of each topic keep their order.
func (o *Owner) Publish(ctx context.Context, outputs []*pipeline.Output) ([]Refused, error) {
	var topics [article.DestinationCount][]*pipeline.Output
	for _, out := range outputs {
		topics[out.Destination] = append(topics[out.Destination], out)
	}
	var refused [article.DestinationCount][]Refused
	var errs [article.DestinationCount]error
	var wait sync.WaitGroup
	for to := range topics {
		if len(topics[to]) > 0 {
			wait.Go(func() {
				refused[to], errs[to] = o.publishTo(ctx, o.writers[to], topics[to])
				crashpoint.Here(crashpoint.BetweenPublishes)
			})
		}
	}
	wait.Wait()
	refusals, err := slices.Concat(refused[:]...), errors.Join(errs[:]...)
	if err != nil || len(refusals) == 0 {
		return nil, err
	}
	slices.SortFunc(refusals,
		func(a, b Refused) int { return cmp.Compare(a.Output.Record.Offset, b.Output.Record.Offset) })
	o.d.refused(refusals[0])
	return refusals, nil
}

// publishTo sends the outputs through one writer, part after part. A part is sent only when the one before is
// acknowledged, so that a retry cannot change the order.
func (o *Owner) publishTo(ctx context.Context, w *writer, outputs []*pipeline.Output) (refusals []Refused, err error) {
	ctx, span := telemetry.Start(ctx, "publish "+w.topic, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.Int("messaging.batch.message_count", len(outputs))))
	defer func() { telemetry.End(span, err) }()
	records := make([]record.Record, len(outputs))
	for i, out := range outputs {
		records[i] = record.Record{Key: out.Key, Value: out.Value, Headers: out.Headers, Time: out.Time}
	}
	for part := range wire.Split(records, o.d.cluster.Config.MaxMessageBytes) {
		more, err := o.send(ctx, w, part, outputs[:len(part)])
		if err != nil {
			return nil, err
		}
		refusals, outputs = append(refusals, more...), outputs[len(part):]
	}
	return refusals, nil
}

// send publishes part, the records of the outputs, as one record batch, as often as needed, except for the records that
// the topic refuses permanently, which it returns. The writer keeps a retry from repeating records.
func (o *Owner) send(ctx context.Context, w *writer, part []record.Record, outputs []*pipeline.Output) (
	[]Refused, error,
) {
	subject := w.topic + "<" + o.input.String()
	raw, err := wire.EncodeBatch(part, o.d.cluster.Codec)
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
		if why := refusal(w.topic, err); why != nil && (len(part) > 1 || !outputs[0].Smallest) {
			o.d.metrics.Errors.WithLabelValues(broker.OpPublish, broker.KindOf(err)).Inc()
			o.d.reporter.OK(broker.OpPublish, subject)
			return o.sendHalves(ctx, w, part, outputs, why)
		}
		if first {
			var cancel context.CancelFunc
			ctx, cancel = stopping.Retry(ctx) //nolint:fatcontext // once
			defer cancel()
		}
		o.d.reporter.Failed(broker.OpPublish, subject, fmt.Errorf("consumer: publish to %s: %w", w.topic, err))
		if err := retry.Wait(ctx); err != nil {
			_ = w.giveUp()
			return nil, err
		}
	}
	o.d.reporter.OK(broker.OpPublish, subject)
	o.d.metrics.Acknowledged.WithLabelValues(w.to.String()).Add(float64(len(part)))
	return nil, nil
}

// sendHalves goes on after a topic has refused a batch. Brokers refuse a batch as a whole, so halves are sent
// until single records are left: those that the topic refuses alone are returned.
func (o *Owner) sendHalves(ctx context.Context, w *writer, part []record.Record, outputs []*pipeline.Output,
	why *record.RejectError,
) ([]Refused, error) {
	if err := w.giveUp(); err != nil {
		return nil, err
	}
	half := len(part) / 2
	if half == 0 {
		return []Refused{{outputs[0], why}}, nil
	}
	first, err := o.send(ctx, w, part[:half], outputs[:half])
	if err != nil {
		return nil, err
	}
	second, err := o.send(ctx, w, part[half:], outputs[half:])
	return append(first, second...), err
}
