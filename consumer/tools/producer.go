package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
)

const (
	// deliveryTimeout is how long a Producer tries to publish one batch, unless it has WaitWith.
	deliveryTimeout = 30 * time.Second
	// attemptTimeout is longer than kafka.Writer waits for an answer: an attempt ends with the answer, or without one.
	attemptTimeout = 15 * time.Second
	// maxBatchRecords bounds a batch. kafka.Writer allocates a batch of that many records beforehand.
	maxBatchRecords = 1000
	// batchDelay is how long kafka.Writer waits for more records of a batch. All records of a batch come in one call.
	batchDelay = time.Millisecond
	// topicPatience is how long a topic may take to become known to all brokers after it was created.
	topicPatience = 2 * time.Second
)

// Producer publishes records into one topic, for command-line tools. Every record is acknowledged by all
// in-sync replicas, or Produce returns an error. Records of one partition keep their order. A lost
// acknowledgement repeats records: kafka.Writer numbers no batches, unlike the writer of the service. Records
// with a key are placed as the Java client places them, records without one at random. Safe for concurrent
// use; the order between concurrent calls is not defined.
type Producer struct {
	cluster *broker.Cluster
	topic   string
	acked   atomic.Int64
	waits   func(why error) // see WaitWith

	mu        sync.Mutex // one call at a time: see write
	writer    *kafka.Writer
	together  bool // of this call all records go into one partition
	partition int  // that partition; -1: not chosen yet
}

// NewProducer validates the configuration and reads certificate and password files. It does not dial.
func NewProducer(cfg broker.Config, topic string) (*Producer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	c, err := broker.New(cfg, topic)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	p := &Producer{cluster: c, topic: topic, partition: -1}
	p.writer = &kafka.Writer{
		Addr: c.Client.Addr, Topic: topic, Transport: c.Wire.Transport, Balancer: kafka.BalancerFunc(p.place),
		RequiredAcks: kafka.RequireAll, Compression: kafka.Compression(c.Codec),
		BatchBytes: int64(cfg.MaxMessageBytes), BatchSize: maxBatchRecords, BatchTimeout: batchDelay,
		MaxAttempts: 1, // write tries again, also after errors for which the Writer would not
	}
	return p, nil
}

// WaitWith makes Produce wait for brokers as long as its ctx lasts. say is called with the reason when it begins to
// wait, and with nil when they answer again. It may be called once, before Produce.
func (p *Producer) WaitWith(say func(why error)) { p.waits = say }

func (p *Producer) place(m kafka.Message, partitions ...int) int {
	if !p.together {
		return kafka.Murmur2Balancer{}.Balance(m, partitions...)
	}
	if p.partition < 0 {
		p.partition = kafka.Murmur2Balancer{}.Balance(m, partitions...)
	}
	return p.partition
}

// ProduceTogether is Produce, but the records of all such calls go into one partition, whatever their keys: that of the
// first one. So the service reads them in this order.
func (p *Producer) ProduceTogether(ctx context.Context, records []record.Record) error {
	return p.produce(ctx, records, true, -1)
}

// ProduceInto is Produce, but the records go into one partition, whatever their keys.
func (p *Producer) ProduceInto(ctx context.Context, partition int32, records []record.Record) error {
	return p.produce(ctx, records, true, int(partition))
}

// Produce returns when the records are acknowledged, or an error if some are not: each may have been
// published or not. A call waits for acknowledgements, so hundreds of records in one call are quickest.
// Topic, partition and offset of the records are ignored, and a zero Time is replaced by now.
func (p *Producer) Produce(ctx context.Context, records []record.Record) error {
	return p.produce(ctx, records, false, -1)
}

// produce publishes records, together into the partition into, which is -1 for the one that was chosen before.
func (p *Producer) produce(ctx context.Context, records []record.Record, together bool, into int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.together = together; into >= 0 {
		p.partition = into
	}
	for run := range slices.Chunk(records, maxBatchRecords) {
		for part := range wire.Split(run, p.cluster.Config.MaxMessageBytes) {
			messages := make([]kafka.Message, len(part))
			for i := range part {
				messages[i] = messageOf(&part[i])
			}
			if err := p.write(ctx, messages); err != nil {
				return explainProduce(p.topic, err)
			}
		}
	}
	return nil
}

func messageOf(r *record.Record) kafka.Message {
	m := kafka.Message{Key: r.Key, Value: r.Value, Time: r.Time}
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
	}
	return m
}

// write publishes records that fit into one batch together. So each partition gets one batch, and no later
// record of a partition is sent before an earlier one is acknowledged. It tries until all are acknowledged,
// trying is pointless, or its time is over. The answer to what was sent is waited for even then: it is counted.
func (p *Producer) write(ctx context.Context, messages []kafka.Message) error {
	if p.waits == nil {
		limited, cancel := context.WithTimeout(ctx, deliveryTimeout)
		defer cancel()
		ctx = limited
	}
	waiting := false
	var retry stopping.Backoff
	for {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
		err := p.writer.WriteMessages(attempt, messages...)
		cancel()
		if err == nil {
			p.acked.Add(int64(len(messages)))
			if waiting {
				p.waits(nil)
			}
			return nil
		}
		if each := kafka.WriteErrors(nil); errors.As(err, &each) {
			var failed []kafka.Message
			for i := range messages {
				if each[i] != nil {
					failed, err = append(failed, messages[i]), each[i]
				}
			}
			p.acked.Add(int64(len(messages) - len(failed)))
			messages = failed
		}
		if broker.Permanent(err) || errors.Is(err, kafka.MessageSizeTooLarge) || ctx.Err() != nil {
			return err
		}
		if p.waits != nil && !waiting {
			waiting = true
			p.waits(broker.Explain(err))
		}
		if retry.Wait(ctx) != nil {
			return err
		}
	}
}

// FindInput makes sure, before a tool publishes into an input topic, that the topic exists. With kafka.create_topics it
// creates a missing one, and says whether it did; unlike EnsureTopics it needs no right on the output topics. The error
// is a *MissingTopicsError, or names another fault and its remedy.
func FindInput(ctx context.Context, cfg broker.Config, topic string) (created bool, err error) {
	c, err := broker.New(cfg, topic)
	if err != nil {
		return false, fmt.Errorf("consumer: %w", err)
	}
	defer c.Close()
	var names []string
	if cfg.CreateTopics {
		names, err = c.EnsureTopics(ctx, []string{topic})
	} else {
		err = c.WaitForTopics(ctx, []string{topic}, topicPatience)
	}
	if missing := (*broker.MissingTopicsError)(nil); err == nil || errors.As(err, &missing) {
		return len(names) > 0, err
	}
	return false, explainProduce(topic, c.ExplainClosed(ctx, err))
}

// explainProduce names the right that a Producer needs on the input topic: Write. The service needs Read there.
func explainProduce(topic string, err error) error {
	var problem *diag.Problem
	explained := errors.As(err, &problem) // by somebody who knew more, such as createTopics
	err = broker.Explain(err)
	switch {
	case explained, !errors.As(err, &problem):
	case errors.Is(err, kafka.TopicAuthorizationFailed):
		problem.Remedy = "grant Write on it, and check that it exists"
	case IsMissing(err):
		problem.Remedy = "create it, or grant Write on it"
	}
	return fmt.Errorf("consumer: produce to %s: %w", topic, err)
}

// Acknowledged returns how many records all in-sync replicas have.
func (p *Producer) Acknowledged() int64 { return p.acked.Load() }

// Close closes the connections.
func (p *Producer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.cluster.Close()
	return p.writer.Close()
}
