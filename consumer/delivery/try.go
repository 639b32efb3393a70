package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
)

// TryExactlyOnce checks that brokers and rights allow exactly once. For that it asks for the identity of a
// transactional id that no partition uses. The error is a permanent *diag.Problem if they do not.
func TryExactlyOnce(ctx context.Context, c *broker.Cluster) error {
	m, err := c.Metadata(ctx, c.Config.Topics.Outputs())
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
	prefix := idPrefix(&c.Config)
	f := &fencer{cluster: c, id: prefix + "/check"}
	err = f.init(ctx)
	if problem := notTransactional(err, prefix); problem != nil {
		return problem
	}
	return err
}

// TryProducerIDs asks a broker for a producer id that no writer uses, which changes nothing in the cluster. refusal
// says why brokers give none, and what follows; err says that it is not known.
func TryProducerIDs(ctx context.Context, c *broker.Cluster) (refusal *diag.Problem, err error) {
	ids := &producerIDs{cluster: c, onRefusal: func(p *diag.Problem) { refusal = p }}
	_, _, err = ids.next(ctx)
	return refusal, err
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
