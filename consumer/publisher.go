package consumer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/diag"
	"echosieve/internal/tracing"
	"echosieve/pipeline"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// publisher publishes outputs to the output topics and waits until all in-sync replicas have them. Safe for concurrent use
// by different input partitions.
type publisher struct {
	cluster  *cluster
	ids      *producerIDs
	topics   [pipeline.Destinations]string
	metrics  *metrics
	reporter *reporter

	mu      sync.Mutex
	writers map[route]*writer // they outlive group generations: a broker can still hold a batch of an earlier one
}

// route names an output topic and an input partition. It has one writer.
type route struct {
	to     pipeline.Destination
	source int32 // input partition
}

func newPublisher(c *cluster, m *metrics, r *reporter) *publisher {
	t := c.cfg.Topics
	ids := &producerIDs{cluster: c, onRefusal: func(p *diag.Problem) {
		r.log.Warn("batches carry no sequence numbers", "cause", p.Cause, "remedy", p.Remedy, "err", p.Err)
	}}
	return &publisher{cluster: c, ids: ids, topics: [...]string{
		pipeline.ToUnique: t.Unique, pipeline.ToPossible: t.Possible, pipeline.ToDuplicate: t.Duplicate, pipeline.ToDead: t.Dead, pipeline.ToShadow: t.Shadow,
	}, metrics: m, reporter: r, writers: map[route]*writer{}}
}

// writer returns the writer of a route, the same one for each call. Records of input partition p go to partition p modulo the
// number of the output topic's partitions.
func (p *publisher) writer(r route) *writer {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.writers[r]
	if w == nil {
		w = newWriter(p.cluster, p.ids, p.topics[r.to], func(partitions int) int { return int(r.source) % partitions })
		p.writers[r] = w
	}
	return w
}

// publish returns nil when every output of a batch of articles, read from input partition source, is acknowledged. It publishes to
// the topics in parallel, with one Produce request for each topic and kafka.max_message_bytes. It tries until ctx ends and returns
// only ctx's error. Calls for one source follow each other, and the outputs of each topic keep their order.
func (p *publisher) publish(ctx context.Context, source int32, outputs []pipeline.Output) error {
	var records [pipeline.Destinations][]pipeline.Record
	for i := range outputs {
		o := &outputs[i]
		rec := pipeline.Record{Key: o.Record.Key, Value: o.Record.Value, Headers: o.Headers, Time: o.Record.Time}
		if o.OmitValue {
			rec.Value = nil
		}
		if o.OmitKey {
			rec.Key = nil
		}
		to := o.Destination
		if p.topics[to] == "" { // kafka.topics.possible is empty
			to = pipeline.ToUnique
		}
		records[to] = append(records[to], rec)
	}
	var errs [pipeline.Destinations]error
	var wait sync.WaitGroup
	for to := range records {
		if len(records[to]) > 0 {
			wait.Go(func() {
				errs[to] = p.publishTo(ctx, route{pipeline.Destination(to), source}, records[to])
				crashpoint.Here(crashpoint.BetweenPublishes)
			})
		}
	}
	wait.Wait()
	return errors.Join(errs[:]...)
}

// publishTo sends the records of one route, part after part. A part is sent only when the one before is acknowledged, so that
// a retry cannot change the order.
func (p *publisher) publishTo(ctx context.Context, r route, records []pipeline.Record) (err error) {
	ctx, span := tracing.Start(ctx, "publish "+p.topics[r.to], trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.Int("messaging.batch.message_count", len(records))))
	defer func() { tracing.End(span, err) }()
	for part := range wire.Split(records, p.cluster.cfg.MaxMessageBytes) {
		if err := p.send(ctx, r, part); err != nil {
			return err
		}
	}
	return nil
}

// send publishes one record batch, as often as needed. The writer keeps a retry from repeating records. If the topic refuses a
// batch of this size, send publishes its halves: perhaps the topic takes the single records.
func (p *publisher) send(ctx context.Context, r route, part []pipeline.Record) error {
	topic := p.topics[r.to]
	subject := topic + "<" + strconv.Itoa(int(r.source))
	raw, err := wire.EncodeBatch(part, p.cluster.codec)
	if err != nil {
		return fmt.Errorf("consumer: publish to %s: %w", topic, err)
	}
	w := p.writer(r)
	var retry backoff
	for {
		if err = w.write(ctx, raw, len(part)); err == nil {
			break
		}
		if ctx.Err() != nil {
			w.giveUp()
			return ctx.Err()
		}
		if half := len(part) / 2; half > 0 && kind(err) == kindTooLarge {
			p.metrics.errors.WithLabelValues(opPublish, kindTooLarge).Inc()
			if err := p.send(ctx, r, part[:half]); err != nil {
				return err
			}
			return p.send(ctx, r, part[half:])
		}
		p.reporter.failed(opPublish, subject, fmt.Errorf("consumer: publish to %s: %w", topic, err))
		if err := retry.wait(ctx); err != nil {
			w.giveUp()
			return err
		}
	}
	p.reporter.ok(opPublish, subject)
	p.metrics.published.WithLabelValues(r.to.String()).Add(float64(len(part)))
	return nil
}
