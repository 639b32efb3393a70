// Package consumer is the service as a member of a consumer group: it fetches the input topics, hands records to a
// Handler in batches, publishes the outputs that the Handler returns, and commits offsets. It and the packages below
// it are all that speaks Kafka: broker reaches the cluster, delivery publishes outputs, tools serves commands.
//
// Delivery is exactly once where brokers allow it (package delivery), otherwise at least once. In both: committed
// offset <= acknowledged outputs <= decided verdicts <= stored entries. An offset is committed only after every output
// of the records before it was acknowledged by all in-sync replicas. Records that were published and not committed are
// delivered again after a crash, and get the same verdicts. With exactly once they are not published again.
//
// Records of one input partition keep their order in each output topic: input partition p always goes to
// output partition p modulo the number of output partitions.
//
// The files in reading order; each uses those below it:
//
//	consumer.go    Consumer: its parts, and Run
//	group.go       groupMember: joins the consumer group, waits for it (joinWatch), asks where to begin, leaves it
//	generation.go  generations: one assignment of partitions, its commits and its end
//	partition.go   servedPartition: prepares, decides and publishes its batches (Handler, delivery.Owner)
//	fetch.go       fetcher: fetches them
//	work.go        work, progress: what partitions share, and how far each one is
//	entry.go       entry: whether a process may be in the group, by the names and the labels of its members
//	labels.go      labels: what the index writes beside committed offsets
//	topics.go      inputs: ids of the input topics, committed offsets
//	env.go         env: what all parts use; topics, rights and coordinator at the start
//
// kafka-go forms the group and keeps connections. Its Reader and Writer are not used by the service: package
// wire reads and writes record batches instead, and its package comment says why.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Consumer is one member of the consumer group. New makes it, and Run may be called once.
type Consumer struct {
	*env
	inputs  *inputs
	labels  *labels
	entry   *entry
	work    *work
	joining *joinWatch
	member  *groupMember
}

// New validates the configuration and reads certificate and password files. It does not dial. health learns
// which operations fail: it gets "kafka", the operation, and the reason after each failure, and a nil error
// when that operation works again or is given up. It must not block. reg may be nil in tests.
func New(cfg broker.Config, handler Handler, reg prometheus.Registerer, log *slog.Logger,
	health func(component string, call fmt.Stringer, err error),
) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	cl, err := broker.New(cfg, cfg.Topics.All()...)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	m := broker.NewMetrics(reg)
	r := broker.NewReporter(m, log, health)
	limiter := broker.NewLimiter(cfg.MaxInFlightRecords, cfg.MaxInFlightBytes, m)
	e := &env{cfg: cfg, cluster: cl, group: cl.Group(cfg.Group), delivery: delivery.New(cl, limiter, m, r, log),
		metrics: m, reporter: r, log: log, warn: func(string, string) {}}
	c := &Consumer{env: e, inputs: newInputs(e), joining: &joinWatch{env: e}}
	c.labels = &labels{inputs: c.inputs, interval: labelsInterval}
	c.entry = &entry{env: e, inputs: c.inputs, labels: c.labels}
	c.work = &work{env: e, handler: handler, limiter: limiter,
		batchRecords: min(cfg.BatchRecords, cfg.MaxInFlightRecords),
		batchBytes:   min(maxBatchBytes, max(cfg.MaxInFlightBytes/8, 1)), openPatience: openPatience,
		shortPatience: shortPatience}
	c.member = &groupMember{env: e, joining: c.joining, entry: c.entry, inputs: c.inputs,
		generations: &generations{work: c.work, inputs: c.inputs, labels: c.labels}}
	c.member.assigned.Store(-1)
	return c, nil
}

// WarnWith makes the consumer call warn when it works, but worse than it could. kind names the warning. It
// may be called once, before Run.
func (c *Consumer) WarnWith(warn func(kind, text string)) { c.warn = warn }

// TraceWith makes the consumer begin a trace for each batch. It may be called once, before Run. Without it,
// or with nil, nothing is traced.
//
// The trace of a batch begins when its records were read from a fetch response, and ends when they are
// marked. Fetches and commits serve several batches and belong to no trace. The batch's span has links to the
// spans that the records name in their header traceparent: a batch has many producers, so none of them can be
// its parent.
func (c *Consumer) TraceWith(t trace.Tracer) { c.work.tracer = t }

// KeepLabels makes the consumer commit and recall labels. It may be called once, before Run.
func (c *Consumer) KeepLabels(l Labels) { c.labels.Labels = l }

// NameMember gives this process a name in the group. It may be called once, before Run. Without a name it takes no
// former member out.
func (c *Consumer) NameMember(name string) { c.clientID, c.cluster.Dialer.ClientID = name, name }

// InputID returns the id of the first input topic in this group generation; zero as long as it is unknown, and where
// brokers have no ids.
func (c *Consumer) InputID() [16]byte { return *c.inputs.topics[0].id.Load() }

// Ping makes one round trip to a broker. The error says what to do.
func (c *Consumer) Ping(ctx context.Context) error { return c.cluster.Ping(ctx) }

// Processes returns how many members the latest group generation of this process has; 0 before the first one.
func (c *Consumer) Processes() int { return int(c.entry.members.Load()) }

// Joined says whether this member has joined its group since Run began.
func (c *Consumer) Joined() bool { return c.member.joined.Load() }

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
	go c.delivery.KeepLimits(ctx)
	go c.joining.watch(ctx)
	err := errOtherIndex
	var watch sync.Once // not before it is admitted: what is lacking until then is stored first
	for errors.Is(err, errOtherIndex) && c.entry.admit(ctx) == nil {
		watch.Do(func() { go c.labels.watch(ctx) })
		err = c.member.run(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, errOtherIndex) {
		err = nil
	}
	var failed *handlerError
	if err == nil && errors.As(context.Cause(ctx), &failed) {
		err = failed.error
	}
	return err
}

// handlerError is the cause of an end of Run that nobody asked for. It tells an error of the Handler that
// wraps context.Canceled from the end of Run's context.
type handlerError struct{ error }
