package delivery

import (
	"errors"

	"github.com/segmentio/kafka-go"

	"echosieve/consumer/internal/wire"
)

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
	case errors.Is(err, wire.ErrNoTransactions):
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
