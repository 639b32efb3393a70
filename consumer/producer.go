package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/internal/diag"
	"echosieve/pipeline"

	"github.com/segmentio/kafka-go"
)

// deliveryTimeout is how long a Producer tries to deliver one batch.
const deliveryTimeout = 30 * time.Second

// producerQueue is how many batches may wait for one partition.
const producerQueue = 2

// errProducerClosed is returned by Produce after Close.
var errProducerClosed = errors.New("producer is closed")

// Producer publishes records into one topic, partition after partition in order, as fast as acknowledgements come.
// A retry never repeats a record, as far as the user may write idempotently (see writer). Records with a key are placed as the Java client
// places them, records without one go round. Safe for
// concurrent use; the order between concurrent calls is not defined.
type Producer struct {
	cluster *cluster
	ids     *producerIDs
	topic   string
	acked   atomic.Int64

	mu      sync.Mutex
	queues  []chan []outRecord // by partition; made by the first Produce
	workers sync.WaitGroup
	round   int
	closed  bool

	broken  chan struct{} // closed after the first failure
	failure error         // set before broken is closed
	once    sync.Once
}

// NewProducer validates the configuration and reads certificate and password files; it does not dial.
func NewProducer(cfg Config, topic string) (*Producer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	c, err := newCluster(cfg, topic)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	return &Producer{cluster: c, ids: &producerIDs{cluster: c}, topic: topic, broken: make(chan struct{})}, nil
}

// Produce hands the records over and returns before they are acknowledged; it waits while too many are under
// way. A batch holds records of one call only, so calls with hundreds of records are quickest. Topic, partition and offset of
// the records are ignored; a zero Time is replaced by now. The error may belong to an earlier call's records:
// after it, nothing more is sent. The records must not be changed before Close.
func (p *Producer) Produce(ctx context.Context, records []pipeline.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errProducerClosed
	}
	if err := p.start(ctx); err != nil {
		return p.explained(err)
	}
	parts := make([][]outRecord, len(p.queues))
	for i := range records {
		r := &records[i]
		to := p.place(r.Key)
		out := outRecord{key: r.Key, value: r.Value, headers: r.Headers, time: r.Time}
		if out.time.IsZero() {
			out.time = time.Now()
		}
		parts[to] = append(parts[to], out)
	}
	for i, part := range parts {
		if len(part) == 0 {
			continue
		}
		select {
		case p.queues[i] <- part:
		case <-p.broken:
			return p.failure
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Acknowledged returns how many records all in-sync replicas have.
func (p *Producer) Acknowledged() int64 { return p.acked.Load() }

// Close sends what is under way, waits for its acknowledgement, and returns the first error. It takes at most
// the delivery timeout of 30 s per batch still waiting, and usually none of that.
func (p *Producer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		for _, q := range p.queues {
			close(q)
		}
		p.workers.Wait()
		p.cluster.close()
	}
	select {
	case <-p.broken:
		return p.failure
	default:
		return nil
	}
}

// start asks for the partitions and starts one worker for each, the first time. It tries until ctx ends or
// trying is pointless.
func (p *Producer) start(ctx context.Context) error {
	if p.queues != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	var retry backoff
	n, err := p.cluster.partitions(ctx, p.topic)
	for err != nil {
		if permanent(err) || retry.wait(ctx) != nil {
			return err
		}
		n, err = p.cluster.partitions(ctx, p.topic)
	}
	for i := range n {
		queue := make(chan []outRecord, producerQueue)
		p.queues = append(p.queues, queue)
		w := newWriter(p.cluster, p.ids, p.topic, func(int) int { return i })
		p.workers.Go(func() {
			for records := range queue {
				p.send(w, records)
			}
		})
	}
	return nil
}

func (p *Producer) place(key []byte) int {
	if key == nil {
		p.round = (p.round + 1) % len(p.queues)
		return p.round
	}
	partitions := make([]int, len(p.queues))
	for i := range partitions {
		partitions[i] = i
	}
	return kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: key}, partitions...)
}

// send delivers the records of one call to one partition. After a failure anywhere it drops them.
func (p *Producer) send(w *writer, records []outRecord) {
	for part := range split(records, p.cluster.cfg.MaxMessageBytes) {
		select {
		case <-p.broken:
			return
		default:
		}
		if err := p.deliver(w, part); err != nil {
			p.once.Do(func() {
				p.failure = p.explained(err)
				close(p.broken)
			})
			return
		}
		p.acked.Add(int64(len(part)))
	}
}

// explained names the right that a producer needs, which is another one than the service's on the same topic.
func (p *Producer) explained(err error) error {
	err = explain(err)
	var problem *diag.Problem
	if errors.As(err, &problem) && errors.Is(err, kafka.TopicAuthorizationFailed) {
		problem.Remedy = "grant Write on it, and check that it exists"
	}
	return fmt.Errorf("consumer: produce to %s: %w", p.topic, err)
}

func (p *Producer) deliver(w *writer, records []outRecord) error {
	raw, err := encodeBatch(records, p.cluster.codec)
	if err != nil {
		return err
	}
	// Workers belong to the producer, not to a call of Produce: the timeout bounds them.
	ctx, cancel := context.WithTimeout(context.Background(), deliveryTimeout)
	defer cancel()
	var retry backoff
	for {
		err := w.write(ctx, raw, len(records))
		if err == nil || permanent(err) || errors.Is(err, kafka.MessageSizeTooLarge) || retry.wait(ctx) != nil {
			return err
		}
	}
}
