package consumer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"echosieve/pipeline"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// publisher writes record batches and waits until all in-sync replicas have them.
type publisher struct {
	cluster  *cluster
	topics   [pipeline.Destinations]string
	metrics  *metrics
	reporter *reporter
}

func newPublisher(c *cluster, m *metrics, r *reporter) *publisher {
	t := c.cfg.Topics
	return &publisher{cluster: c, topics: [...]string{
		pipeline.ToUnique: t.Unique, pipeline.ToPossible: t.Possible, pipeline.ToDuplicate: t.Duplicate, pipeline.ToDead: t.Dead,
	}, metrics: m, reporter: r}
}

// home is where records for a destination go: the unique topic where possible copies have no topic of their own.
func (p *publisher) home(to pipeline.Destination) pipeline.Destination {
	if p.topics[to] == "" {
		return pipeline.ToUnique
	}
	return to
}

// publish sends the records to one topic, batch after batch, each as often as it takes: a batch is sent only when
// the one before it is acknowledged, so that a retry cannot change the order. It returns only ctx's error.
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
	var retry backoff
	for {
		if err = p.cluster.produce(ctx, topic, source, raw); err == nil {
			break
		}
		if ctx.Err() != nil {
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

// produce sends one encoded batch to the partition that belongs to source: source modulo the number of
// partitions, as far as known now.
func (c *cluster) produce(ctx context.Context, topic string, source int32, raw []byte) error {
	n, err := c.partitions(ctx, topic)
	if err != nil {
		return err
	}
	return c.produceTo(ctx, topic, int(source)%n, raw)
}

// produceTo sends one encoded batch and waits for the acknowledgement of all in-sync replicas.
func (c *cluster) produceTo(ctx context.Context, topic string, partition int, raw []byte) error {
	// The deadline ends the connection too: a batch given up here cannot arrive after its retry.
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	prefix := binary.BigEndian.AppendUint32(nil, uint32(len(raw)))
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
