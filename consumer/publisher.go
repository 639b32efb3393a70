package consumer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"echosieve/internal/diag"
	"echosieve/pipeline"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// publisher writes record batches and waits until all in-sync replicas have them.
type publisher struct {
	cluster  *cluster
	ids      *producerIDs
	topics   [pipeline.Destinations]string
	metrics  *metrics
	reporter *reporter

	mu      sync.Mutex
	writers map[route]*writer // they outlive generations: a broker can still hold a batch of an earlier one
}

// route is what one writer serves.
type route struct {
	to     pipeline.Destination
	source int32 // input partition
}

func newPublisher(c *cluster, m *metrics, r *reporter) *publisher {
	t := c.cfg.Topics
	ids := &producerIDs{cluster: c, tell: func(p *diag.Problem) {
		r.log.Warn("batches carry no sequence numbers", "cause", p.Cause, "remedy", p.Remedy, "err", p.Err)
	}}
	return &publisher{cluster: c, ids: ids, topics: [...]string{
		pipeline.ToUnique: t.Unique, pipeline.ToPossible: t.Possible, pipeline.ToDuplicate: t.Duplicate, pipeline.ToDead: t.Dead,
	}, metrics: m, reporter: r, writers: map[route]*writer{}}
}

// writer returns the writer of a route, always the same one. Records of input partition p go to partition p modulo the number of
// the topic's partitions.
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

// home is where records for a destination go: the unique topic where possible copies have no topic of their own.
func (p *publisher) home(to pipeline.Destination) pipeline.Destination {
	if p.topics[to] == "" {
		return pipeline.ToUnique
	}
	return to
}

// publish sends the records to one topic, batch after batch, each as often as it takes: a batch is sent only when
// the one before it is acknowledged, so that a retry cannot change the order. The writer keeps a retry from repeating records. It
// returns only ctx's error. Calls for one destination and source follow each other.
func (p *publisher) publish(ctx context.Context, to pipeline.Destination, source int32, records []outRecord) error {
	for part := range split(records, p.cluster.cfg.MaxMessageBytes) {
		if err := p.send(ctx, to, source, part); err != nil {
			return err
		}
	}
	return nil
}

// send publishes one batch. If the topic takes no batch of this size, it sends the halves: perhaps it takes the records.
func (p *publisher) send(ctx context.Context, to pipeline.Destination, source int32, part []outRecord) error {
	topic := p.topics[to]
	subject := topic + "<" + strconv.Itoa(int(source))
	raw, err := encodeBatch(part, p.cluster.codec)
	if err != nil {
		return fmt.Errorf("consumer: publish to %s: %w", topic, err)
	}
	w := p.writer(route{to, source})
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
			if err := p.send(ctx, to, source, part[:half]); err != nil {
				return err
			}
			return p.send(ctx, to, source, part[half:])
		}
		p.reporter.failed(opPublish, subject, fmt.Errorf("consumer: publish to %s: %w", topic, err))
		if err := retry.wait(ctx); err != nil {
			w.giveUp()
			return err
		}
	}
	p.reporter.ok(opPublish, subject)
	p.metrics.published.WithLabelValues(to.String()).Add(float64(len(part)))
	return nil
}

// split cuts records into runs whose uncompressed batch is at most limit bytes. A record that is larger alone
// stands alone: the broker has the last word.
func split(records []outRecord, limit int) func(yield func([]outRecord) bool) {
	return func(yield func([]outRecord) bool) {
		start, size := 0, batchHeader
		for i := range records {
			n := records[i].encodedSize()
			if i > start && size+n > limit {
				if !yield(records[start:i]) {
					return
				}
				start, size = i, batchHeader
			}
			size += n
		}
		if start < len(records) {
			yield(records[start:])
		}
	}
}

// produceTo sends one encoded batch and waits for the acknowledgement of all in-sync replicas.
func (c *cluster) produceTo(ctx context.Context, topic string, partition int, raw []byte) error {
	// The deadline also ends a connection on which no answer comes. A broker that hangs may still append the batch later.
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	prefix := binary.BigEndian.AppendUint32(nil, uint32(len(raw)))
	// The request gets a copy: after an error kafka-go may still be writing it while the next attempt changes raw.
	res, err := c.client.RawProduce(ctx, &kafka.RawProduceRequest{
		Topic:        topic,
		Partition:    partition,
		RequiredAcks: kafka.RequireAll,
		RawRecords:   protocol.RawRecordSet{Reader: bytes.NewReader(slices.Concat(prefix, raw))},
	})
	if err != nil {
		return c.rootCause(ctx, err)
	}
	return res.Error
}
