package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/diag"

	"github.com/segmentio/kafka-go"
)

// transactionalIDPrefix begins the transactional ids of this group.
func transactionalIDPrefix(c *broker.Config) string { return cmp.Or(c.TransactionalIDPrefix, c.Group) }

// WarnWith makes the consumer call warn when it works, but worse than it could. kind names the warning. It
// may be called once, before Run.
func (c *Consumer) WarnWith(warn func(kind, text string)) { c.warn = warn }

// chooseDelivery sets how this process delivers. It returns an error if exactly once is set by name and
// cannot be had, or if the coordinator does not answer.
func (c *Consumer) chooseDelivery(ctx context.Context) error {
	c.exactlyOnce = false
	c.metrics.ExactlyOnce.Set(0)
	if c.cfg.Delivery == broker.AtLeastOnce {
		return nil
	}
	err := tryExactlyOnce(ctx, c.cluster)
	var lack *diag.Problem
	switch {
	case err == nil:
		c.exactlyOnce = true
		c.metrics.ExactlyOnce.Set(1)
		c.fenceMemory = c.cluster.ProducerMemory(ctx)
		return nil
	case errors.As(err, &lack) && lack.Permanent && c.cfg.Delivery == "":
		c.log.Warn("delivery is at least once: after a crash or a rebalance some records are published twice",
			"cause", lack.Cause, "remedy", lack.Remedy, "err", lack.Err)
		c.warn("delivery", "delivery is at least once: "+lack.Error())
		return nil
	default:
		return fmt.Errorf("kafka.delivery: %w", err)
	}
}

// renewalInterval is the time between two renewals of a fence. It is shorter where brokers forget a fence
// sooner than by default.
func (c *Consumer) renewalInterval() time.Duration {
	return min(fenceRenewal, c.fenceMemory/renewalsInMemory, time.Duration(c.limits.retention.Load())/renewalsInMemory)
}

// tryExactlyOnce checks that brokers and rights allow exactly once. For that it asks for the identity of a
// transactional id that no partition uses. The error is a permanent *diag.Problem if they do not.
func tryExactlyOnce(ctx context.Context, c *broker.Cluster) error {
	m, err := c.Metadata(ctx, c.Config.Topics.All()[1:])
	if err != nil {
		return err
	}
	for _, t := range m.Topics {
		if t.Err == nil && t.Operations.Lack(wire.MayRead) {
			return &diag.Problem{
				Cause: "this user may not read the output topic " + t.Name +
					", so it cannot find out what an earlier process has published",
				Remedy: "grant Read on the output topics, or set kafka.delivery: " + broker.AtLeastOnce,
				Err:    kafka.TopicAuthorizationFailed, Permanent: true,
			}
		}
	}
	prefix := transactionalIDPrefix(&c.Config)
	t := &takeover{cluster: c, id: prefix + "/check", node: -1}
	err = t.ask(ctx, func(ctx context.Context) error {
		_, err := c.Wire.InitProducer(ctx, t.node, t.id, transactionTimeout)
		return err
	})
	if problem := notTransactional(err, prefix); problem != nil {
		return problem
	}
	return err
}

// notTransactional explains why brokers give no identity for transactional ids with the prefix, if trying
// again is pointless. It returns nil for other errors and for nil.
func notTransactional(err error, prefix string) *diag.Problem {
	switch {
	case errors.Is(err, kafka.TransactionalIDAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
		return &diag.Problem{
			Cause: "this user may not use transactional ids that begin with " + prefix,
			Remedy: fmt.Sprintf("grant Write on the transactional ids with the prefix %s, or set kafka.delivery: %s",
				prefix, broker.AtLeastOnce),
			Err: err, Permanent: true,
		}
	case errors.Is(err, kafka.InvalidTransactionTimeout):
		return &diag.Problem{
			Cause:  "the brokers allow no transaction of " + transactionTimeout.String(),
			Remedy: fmt.Sprintf("raise transaction.max.timeout.ms, or set kafka.delivery: %s", broker.AtLeastOnce),
			Err:    err, Permanent: true,
		}
	case errors.Is(err, wire.ErrNoTransactions), errors.Is(err, kafka.UnsupportedVersion):
		return &diag.Problem{
			Cause:  "the brokers have no transactions",
			Remedy: fmt.Sprintf("use Kafka 2.3 or later, or set kafka.delivery: %s", broker.AtLeastOnce),
			Err:    err, Permanent: true,
		}
	}
	return nil
}
