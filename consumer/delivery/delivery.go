// Package delivery publishes the outputs of input partitions into the output topics, each once where brokers allow it.
// Own makes this process the owner of a partition; the comment of takeover says how, and which interleavings each step
// closes. The package knows no consumer group and no handler, and starts nothing that outlives a call. Who has an
// Owner meets two ends: ErrTakenOver, after which another process has the partition, and ErrStandingLost, after which
// the partition must be taken over again.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
)

// Delivery is how one process delivers. Its methods may be called at the same time, except Prepare.
type Delivery struct {
	*outputLimits
	cluster     *broker.Cluster
	limiter     *broker.Limiter
	metrics     *broker.Metrics
	reporter    *broker.Reporter
	log         *slog.Logger
	exactlyOnce bool                         // set by Prepare
	fenceMemory time.Duration                // how long brokers remember a fence; set by Prepare
	topics      atomic.Pointer[outputTopics] // nil before the first look
	takeovers   *semaphore.Weighted          // bounds the take-overs at a time
	own         sync.Map                     // writers with producer ids of their own, by input partition
}

// parallelTakeOvers is how many partitions are taken over at a time. Each takes some round trips to coordinators and
// leaders.
const parallelTakeOvers = 16

// New returns the delivery of a process. It does not dial.
func New(c *broker.Cluster, l *broker.Limiter, m *broker.Metrics, r *broker.Reporter, log *slog.Logger) *Delivery {
	return &Delivery{
		cluster: c, limiter: l, metrics: m, reporter: r, log: log,
		outputLimits: &outputLimits{cluster: c, log: log, stale: make(chan struct{}, 1), interval: limitsInterval},
		fenceMemory:  math.MaxInt64, takeovers: semaphore.NewWeighted(parallelTakeOvers),
	}
}

// Prepare reads what the output topics take, and sets how this process delivers. lack is not empty if delivery is
// only at least once although that is not set: it says why, and what to do. Errors are those of Check, or say that the
// cluster does not answer.
func (d *Delivery) Prepare(ctx context.Context) (lack string, err error) {
	if err := d.read(ctx); err != nil {
		return "", err
	}
	exactlyOnce, problem, err := Check(ctx, d.cluster)
	if err != nil {
		return "", fmt.Errorf("kafka.delivery: %w", err)
	}
	d.exactlyOnce = exactlyOnce
	if exactlyOnce {
		d.metrics.ExactlyOnce.Set(1)
		d.fenceMemory = broker.ProducerMemory(ctx, d.cluster)
	}
	if problem != nil {
		d.log.Warn("delivery is at least once: after a crash or a rebalance some records are published twice",
			"cause", problem.Cause, "remedy", problem.Remedy, "err", problem.Err)
		lack = "delivery is at least once: " + problem.Error()
	}
	return lack, nil
}

// Check finds out how a process with the cluster's settings delivers. It changes no topic and no group. lack is why
// delivery is only at least once although that is not set. The error is a permanent *diag.Problem if brokers or rights
// do not allow what is set by name, or refuse the numbers that keep a retry from repeating a batch.
func Check(ctx context.Context, c *broker.Cluster) (exactlyOnce bool, lack *diag.Problem, err error) {
	if c.Config.Delivery != broker.AtLeastOnce {
		if err = tryExactlyOnce(ctx, c); err == nil {
			return true, nil, nil
		}
		if !errors.As(err, &lack) || !lack.Permanent || c.Config.Delivery == broker.ExactlyOnce {
			return false, nil, err
		}
	}
	return false, lack, stopping.Until(ctx, broker.RequestTimeout, func(ctx context.Context) error {
		_, err := c.Wire.NewProducer(ctx)
		if problem := notIdempotent(err); problem != nil {
			return stopping.Final(problem)
		}
		return c.RootCause(ctx, err) // just after the start of a cluster, brokers may not give ids yet
	})
}

// tryExactlyOnce checks that brokers and rights allow exactly once. For that it asks for the identity of a
// transactional id that no partition uses. The error is a permanent *diag.Problem if they do not.
func tryExactlyOnce(ctx context.Context, c *broker.Cluster) error {
	m, err := c.Metadata(ctx, c.Config.Topics.Outputs())
	if err != nil {
		return err
	}
	for _, t := range m.Topics {
		if t.Err == nil && t.Operations.Lack(wire.MayRead) {
			return diag.Lasting("this user may not read the output topic "+t.Name+
				", so it cannot find out what an earlier process has published",
				"grant Read on the output topics"+orAtLeastOnce, kafka.TopicAuthorizationFailed)
		}
	}
	prefix := idPrefix(&c.Config)
	err = (&fencer{cluster: c, id: prefix + "/check"}).init(ctx)
	if problem := notTransactional(err, prefix); problem != nil {
		return problem
	}
	return err
}

// orAtLeastOnce ends a remedy.
const orAtLeastOnce = ", or set kafka.delivery: " + broker.AtLeastOnce

// notTransactional explains why brokers give no identity for transactional ids with the prefix, if trying
// again is pointless. It returns nil for other errors and for nil.
func notTransactional(err error, prefix string) *diag.Problem {
	switch {
	case errors.Is(err, kafka.TransactionalIDAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
		return diag.Lasting("this user may not use transactional ids that begin with "+prefix,
			"grant Write on the transactional ids with the prefix "+prefix+orAtLeastOnce, err)
	case errors.Is(err, kafka.InvalidTransactionTimeout):
		return diag.Lasting("the brokers allow no transaction of "+transactionTimeout.String(),
			"raise transaction.max.timeout.ms"+orAtLeastOnce, err)
	case errors.Is(err, wire.ErrNotOffered), errors.Is(err, kafka.UnsupportedVersion):
		return diag.Lasting("the brokers have no transactions", "use Kafka 2.3 or later"+orAtLeastOnce, err)
	}
	return nil
}

// notIdempotent explains why a broker gives no producer ids, if trying again is pointless. It returns nil for
// other errors and for nil.
func notIdempotent(err error) *diag.Problem {
	const cause = "the broker gives this user no producer id, so a batch whose acknowledgement was lost would be " +
		"published twice"
	switch {
	case errors.Is(err, kafka.ClusterAuthorizationFailed):
		return diag.Lasting(cause,
			"grant Write on the output topics; with Kafka before 2.8 also grant IdempotentWrite on the cluster", err)
	case errors.Is(err, wire.ErrNotOffered), errors.Is(err, kafka.UnsupportedVersion):
		return diag.Lasting(cause, "use Kafka 2.3 or later", err)
	}
	return nil
}

// outputTopics are the output topics as a broker has described them.
type outputTopics struct {
	topics []wire.Topic
	asked  time.Time
}

// Saw tells owners how a broker has described the output topics, in an answer to a request of the time asked.
func (d *Delivery) Saw(topics []wire.Topic, asked time.Time) {
	d.topics.Store(&outputTopics{topics, asked})
}
