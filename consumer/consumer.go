// Package consumer is the service as a member of a consumer group: it fetches the input topic, hands records to a
// Handler in batches, publishes the outputs that the Handler returns, and commits offsets. It and the packages below
// it are all that speaks Kafka: broker reaches the cluster, tools serves commands.
//
// Delivery is exactly once where brokers allow it (takeover.go, delivery.go), otherwise at least once. In
// both: committed offset <= acknowledged outputs <= decided verdicts <= stored entries. An offset is
// committed only after every output of the records before it was acknowledged by all in-sync replicas.
// Records that were published and not committed are delivered again after a crash, and get the same verdicts.
// With exactly once they are not published again.
//
// Records of one input partition keep their order in each output topic: input partition p always goes to
// output partition p modulo the number of output partitions.
//
// The path of a record: Consumer.Run joins the group (consumer.go), groupGeneration.start starts three
// goroutines for each assigned partition (generation.go), and they fetch (fetch.go), prepare and finish
// (partition.go) batches of records. finish calls the Handler, sender.publish waits for acknowledgements
// (sender.go, writer.go), and groupGeneration.commit commits the marks.
//
// kafka-go forms the group and keeps connections. Its Reader and Writer are not used by the service: package
// wire reads and writes record batches instead, and its package comment says why.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/pipeline/record"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
)

// Handler turns records into outputs, batch by batch. Calls for different partitions are concurrent. Within a
// partition batches are decided in order, and one batch may be prepared while the batch before it is decided.
type Handler interface {
	// Prepare does all work that depends on the records and their schemas alone. It waits while the server of
	// schemas does not answer, and returns an error when ctx ends. Any other error ends Run. The records stay
	// valid until the batch is published or dropped.
	Prepare(ctx context.Context, records []record.Record) (*pipeline.Batch, error)
	// Decide returns the outputs in the order of the records. A record may have none. Decide retries while
	// the index does not answer, and returns an error when ctx ends. Any other error ends Run.
	Decide(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error)
	// Refused returns the dead letter that is published in place of an output of the batch that its topic
	// refuses permanently. Of an output that has the smallest form already, the topic's refusal counts as a
	// failure, which is tried again. Refused blocks while the index does not answer, and returns an error
	// when ctx ends. Any other error ends Run.
	Refused(ctx context.Context, b *pipeline.Batch, out *pipeline.Output, why *record.RejectError) (pipeline.Output,
		error)
	// Acknowledged is called when all outputs of a batch are acknowledged. took is the time from the decision
	// until then.
	Acknowledged(outputs []pipeline.Output, took time.Duration)
}

// Consumer is one member of the consumer group. New makes it, and Run may be called once.
type Consumer struct {
	cfg                      broker.Config
	cluster                  *broker.Cluster
	input                    *inputTopic
	sender                   *sender
	limits                   *outputLimits
	handler                  Handler
	labels                   Labels // may be nil
	labelsInterval           time.Duration
	tracer                   trace.Tracer // nil: nothing is traced
	limiter                  *broker.Limiter
	metrics                  *broker.Metrics
	reporter                 *broker.Reporter
	log                      *slog.Logger
	batchRecords, batchBytes int // limits of one batch; its last record may exceed batchBytes
	warn                     func(kind, text string)
	exactlyOnce              bool                         // how records are delivered; set by prepare
	fenceMemory              time.Duration                // how long brokers remember a fence; set by prepare
	upkeepInterval           time.Duration                // upkeepInterval; tests set a shorter one
	outputs                  atomic.Pointer[outputTopics] // nil before the first look
	takeovers                *semaphore.Weighted          // bounds the take-overs at a time
	lastServed               wire.TopicID                 // id of the input topic in the latest group generation
	// partitions that this member has assigned, as leader, for the next group generation; -1: it is not the leader
	assigned atomic.Int64
	fail     func(error) // ends Run with an error
}

// maxBatchBytes bounds the payload of one batch, as far as single records allow.
const maxBatchBytes = 4 << 20

// New validates the configuration and reads certificate and password files. It does not dial. health learns
// which operations fail: it gets "kafka", the operation, and the reason after each failure, and a nil error
// when that operation works again or is given up. It must not block. reg may be nil in tests.
func New(cfg broker.Config, handler Handler, reg prometheus.Registerer, log *slog.Logger,
	health func(component string, call fmt.Stringer, err error)) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	cl, err := broker.New(cfg, cfg.Topics.All()...)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	m, err := broker.NewMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	r := broker.NewReporter(m, log, health, cfg.SessionTimeout)
	c := &Consumer{
		cfg:            cfg,
		cluster:        cl,
		input:          &inputTopic{cluster: cl, name: cfg.Topics.Input},
		sender:         newSender(cl, m, r, log),
		handler:        handler,
		metrics:        m,
		reporter:       r,
		log:            log,
		labelsInterval: labelsInterval,
		limits:         &outputLimits{cluster: cl, log: log, stale: make(chan struct{}, 1), interval: limitsInterval},
		limiter:        broker.NewLimiter(cfg.MaxInFlightRecords, cfg.MaxInFlightBytes, m),
		fenceMemory:    math.MaxInt64,
		upkeepInterval: upkeepInterval,
		warn:           func(string, string) {},
		takeovers:      semaphore.NewWeighted(parallelTakeOvers),
		batchRecords:   min(cfg.BatchRecords, cfg.MaxInFlightRecords),
		batchBytes:     min(maxBatchBytes, max(cfg.MaxInFlightBytes/8, 1)),
	}
	c.input.id.Store(&wire.TopicID{})
	c.assigned.Store(-1)
	return c, nil
}

// Ping makes one round trip to a broker. The error says what to do.
func (c *Consumer) Ping(ctx context.Context) error { return c.cluster.Ping(ctx) }

// Run consumes until ctx ends. Then it finishes work under way within the drain timeout, commits, leaves the
// group and returns nil. It waits for brokers that do not answer, at start and later. It returns an error
// where waiting cannot help: topics or rights are missing or the login is refused at start, or the Handler
// returned an error.
func (c *Consumer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.cluster.Close()
	c.fail = func(err error) { cancel(&handlerError{err}) }

	switch err := c.prepare(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("consumer: %w", broker.Explain(err))
	}
	group, err := kafka.NewConsumerGroup(c.groupConfig())
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	go c.limits.keepFresh(ctx)
	left := make(chan struct{})
	go func() {
		<-ctx.Done()
		// Close ends the group generation, waits until it is drained and committed, and leaves the group.
		_ = group.Close()
		close(left)
	}()
	go c.watchLabels(ctx)
	err = c.serveGenerations(ctx, group)
	cancel(err)
	c.waitUntilLeft(left)
	var failed *handlerError
	if err == nil && errors.As(context.Cause(ctx), &failed) {
		err = failed.error
	}
	return err
}

// handlerError is the cause of an end of Run that nobody asked for. It tells an error of the Handler that
// wraps context.Canceled from the end of Run's context.
type handlerError struct{ error }
