package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// idPrefix begins the transactional ids of the group.
func idPrefix(c *broker.Config) string { return cmp.Or(c.TransactionalIDPrefix, c.Group) }

// transactionalID names the writer for an input partition.
func transactionalID(prefix string, input wire.TopicPartition) string {
	return prefix + "/" + input.String()
}

// fencer holds the transactional id of an input partition at the id's coordinator.
type fencer struct {
	cluster *broker.Cluster
	id      string        // transactional id
	memory  time.Duration // how long leaders remember a producer

	node  int32 // of the id's coordinator; -1: not known
	as    wire.Identity
	first int16 // the first epoch that was given out for this take-over; valid if begun
	begun bool
}

const (
	// transactionTimeout is how long the empty transaction of a fence may stay open. If this process dies
	// between opening and ending it, the next owner waits no longer than that.
	transactionTimeout = 10 * time.Second
	// takeOverPatience is how long a coordinator may be busy before the take-over counts as failing. It is
	// twice transactionTimeout.
	takeOverPatience = 2 * transactionTimeout
	// busyPause is the first pause before a request to a busy coordinator is repeated. Coordinators end a
	// transaction in milliseconds.
	busyPause = 5 * time.Millisecond
)

// init gets a new epoch.
func (t *fencer) init(ctx context.Context) error {
	t.node = -1
	err := t.ask(ctx, func(ctx context.Context) (err error) {
		t.as, err = t.cluster.Wire.InitProducer(ctx, t.node, t.id, transactionTimeout)
		return err
	})
	if err != nil {
		return fmt.Errorf("epoch of transactional id %s: %w", t.id, err)
	}
	if !t.begun {
		t.begun, t.first = true, t.as.Epoch
	}
	return nil
}

// fence sends the markers of our epoch into the positions.
func (t *fencer) fence(ctx context.Context, positions []broker.Position) error {
	partitions := make([]wire.TopicPartition, len(positions))
	for i, p := range positions {
		partitions[i] = p.TopicPartition
	}
	err := t.ask(ctx, func(ctx context.Context) error {
		return t.cluster.Wire.AddPartitions(ctx, t.node, t.id, t.as, partitions)
	})
	if err != nil {
		return fmt.Errorf("fence with transactional id %s: %w", t.id, err)
	}
	crashpoint.Here(crashpoint.AfterAddPartitions)
	err = t.ask(ctx, func(ctx context.Context) error { return t.cluster.Wire.EndTransaction(ctx, t.node, t.id, t.as) })
	if err != nil {
		return fmt.Errorf("end of the fence with transactional id %s: %w", t.id, err)
	}
	crashpoint.Here(crashpoint.AfterEndTransaction)
	return nil
}

// ask sends a request to the coordinator of the id until there is an answer that is not to be asked for again.
func (t *fencer) ask(ctx context.Context, request func(context.Context) error) error {
	retry, began := stopping.Backoff{First: busyPause}, time.Now()
	for {
		var err error
		if t.node < 0 {
			t.node, err = t.cluster.Wire.Coordinator(ctx, kafka.CoordinatorKeyTypeTransaction, t.id)
		}
		if err == nil {
			err = request(ctx)
		}
		switch react(err) {
		case lookUp:
			t.node = -1
		case sendAgain:
		default:
			return err
		}
		if time.Since(began) > takeOverPatience || retry.Wait(ctx) != nil {
			return err
		}
	}
}

// reaction is what a take-over does after an error.
type reaction int

const (
	startOver reaction = iota // go back to init: it is not known what became of the request, or the identity is void
	sendAgain                 // send the request again, after a pause
	lookUp                    // look the coordinator up, then send the request again
	leave                     // another process has taken over: end the group generation
	forbidden                 // brokers do not allow it, and trying again does not help
)

// reactions to the codes of brokers, in all steps of a take-over. Other codes and lost connections start over.
var reactions = map[kafka.Error]reaction{
	kafka.GroupLoadInProgress:          sendAgain, // 14, the coordinator loads its state
	kafka.ConcurrentTransactions:       sendAgain, // 51, a transaction of the id is being ended
	kafka.GroupCoordinatorNotAvailable: lookUp,    // 15
	kafka.NotCoordinatorForGroup:       lookUp,    // 16
	kafka.BrokerNotAvailable:           lookUp,    // 8
	// The epoch is too old. Asking for a new one would end the transaction of the process that has taken over.
	kafka.InvalidProducerEpoch: leave, // 47
	kafka.ProducerFenced:       leave, // 90
	// The coordinator forgot the id while it was idle.
	kafka.InvalidProducerIDMapping: startOver, // 49
	kafka.InvalidTransactionState:  startOver, // 48

	kafka.TransactionalIDAuthorizationFailed: forbidden, // 53
	kafka.TopicAuthorizationFailed:           forbidden, // 29
	kafka.InvalidTransactionTimeout:          forbidden, // 50
	kafka.UnsupportedVersion:                 forbidden, // 35
}

func react(err error) reaction {
	var code kafka.Error
	switch {
	case errors.Is(err, wire.ErrNotOffered):
		return forbidden
	case errors.As(err, &code):
		return reactions[code]
	default:
		return startOver
	}
}

var (
	// ErrTakenOver says that another process has taken the partition over. The group generation ends for this
	// member.
	ErrTakenOver = errors.New("another process has taken the partition over")
	// ErrStandingLost says that a leader has lost what it knew of this process as a producer, or that the
	// output topic has other partitions now. The partition must be taken over again: whether the last batch was
	// appended is found by reading.
	ErrStandingLost = errors.New("the output partition no longer knows this producer")
	// errOutputsChanged says why an owner has lost its standing before it noticed.
	errOutputsChanged = errors.New("an output topic was recreated, or has more partitions")
)
