package delivery

import (
	"context"
	"errors"
	"math"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
)

// renewalsInMemory is how often a fence is renewed, at least, while brokers remember it.
const renewalsInMemory = 3

// writer sends batches into one topic, one at a time, as an idempotent producer: each batch carries a
// producer id, an epoch and the sequence number of its first record. The leader of a partition remembers the
// last numbers of every producer id:
//
//   - The leader appends a batch, and the acknowledgement is lost. The writer sends the batch again with the
//     same numbers. The leader acknowledges it without appending it again.
//   - A stalled broker holds a request. The writer gives up on that connection, sends the batch again over
//     another one, and goes on. When the broker comes to the held request, its numbers are old, and the
//     broker refuses it.
//   - The group generation ends, the writer gives up a batch, and a broker still holds the batch. The next
//     batch carries a higher epoch, so the broker refuses the held batch once it has seen that epoch. If the
//     broker appends the held batch first, the redelivery of its records repeats them, as any redelivery may.
//
// Each input partition has one writer for each output topic. Under which producer id a writer's batches
// stand, and what follows when its sequence cannot go on, is a matter of its identity. Not safe for
// concurrent use.
type writer struct {
	cluster  *broker.Cluster
	identity identity
	to       article.Destination
	topic    string
	input    int32 // the input partition, which decides the partition of each batch

	partition int       // of the latest batch; -1: none yet
	next      int32     // sequence number of the next record
	pending   bool      // a batch was sent, it is not known whether it was appended, and it is not given up
	end       int64     // offset after the latest acknowledged batch; -1: not known
	latest    time.Time // latest timestamp in the latest acknowledged batch since the fence; zero: there was none
}

// writers are the writers of one input partition, by output topic. Not safe for concurrent use, except that
// each writer may be used by another goroutine.
type writers [article.DestinationCount]*writer

// write sends the encoded batch of n records once. latest is the latest of their timestamps. After an error
// the caller has three choices: write the same batch again, write parts of it if the broker refused the
// batch, or call giveUp. After ErrStandingLost and ErrTakenOver no batch can be written any more.
func (w *writer) write(ctx context.Context, raw []byte, n int, latest time.Time) error {
	if err := w.choosePartition(ctx); err != nil {
		return err
	}
	if w.pending && !w.identity.remembered(latest) {
		return errors.Join(errForgetful, w.restart())
	}
	as, err := w.identity.current(ctx)
	if err != nil {
		return err
	}
	wire.SetSequence(raw, as.ID, as.Epoch, w.next)
	before := w.pending
	w.pending = true
	base, err := w.cluster.Wire.Produce(ctx, w.topic, w.partition, raw)
	err = w.cluster.RootCause(ctx, err)
	switch {
	case err == nil, errors.Is(err, kafka.DuplicateSequenceNumber): // a duplicate: an earlier attempt was appended
		w.next = int32((int64(w.next) + int64(n)) & math.MaxInt32) // 0 follows the largest number
		w.pending = false
		w.latest = latest
		if err == nil {
			w.end = base + int64(n)
		}
		return nil
	case refusal(w.topic, err) != nil:
		w.pending = before // this attempt was not appended
	case errors.Is(err, kafka.OutOfOrderSequenceNumber), errors.Is(err, kafka.UnknownProducerId),
		errors.Is(err, kafka.InvalidTransactionState), errors.Is(err, transactionAbortable):
		// The leader has lost our numbers: it forgot a silent producer, the topic was recreated, or an
		// unclean election undid acknowledged records. The leader does not have this batch either, or it
		// would know the batch's numbers.
		return errors.Join(err, w.restart())
	case errors.Is(err, kafka.InvalidProducerEpoch), errors.Is(err, kafka.InvalidProducerIDMapping),
		errors.Is(err, kafka.ProducerFenced):
		w.next = 0
		return errors.Join(err, w.identity.refused(err))
	}
	return err
}

// giveUp allows the next record batch to differ from the batch that was written last. The last batch may have
// been appended: if the next one carried the same numbers, the broker would take it for a repeat and drop it.
// After an error no batch may be written any more.
func (w *writer) giveUp() error {
	if !w.pending {
		return nil
	}
	w.pending = false
	return w.restart()
}

func (w *writer) restart() error {
	w.next = 0
	return w.identity.renew()
}

// choosePartition sets the partition of the next record batch. A pending batch keeps its partition as long as
// the topic has that partition: if partitions are added meanwhile, only the leader to which the batch was
// sent knows whether it was appended.
func (w *writer) choosePartition(ctx context.Context) error {
	n, err := w.cluster.Partitions(ctx, w.topic)
	if err != nil {
		return err
	}
	if to := int(OutputPartition(w.input, n)); to != w.partition && (!w.pending || w.partition >= n) {
		first := w.partition < 0
		w.partition = to
		if !first {
			return w.restart()
		}
	}
	return nil
}

// errForgetful says why a batch is not sent again.
var errForgetful = errors.New("the leader may have forgotten a batch of old articles that it has appended")

// transactionAbortable is the code 120, which kafka-go v0.4.51 does not name.
const transactionAbortable = kafka.Error(120)

// refusal returns why a topic refuses a batch permanently; nil if the same batch may be taken later. A part
// of the batch may be taken.
func refusal(topic string, err error) *record.RejectError {
	var code kafka.Error
	if !errors.As(err, &code) {
		return nil
	}
	reason := record.Refused
	switch code {
	case kafka.InvalidTimestamp:
		reason = record.Timestamp
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge:
		reason = record.TooLarge
	case kafka.InvalidRecord: // a compacted topic and no key, or a check that the broker's owner has added
	default:
		return nil
	}
	return record.Reject(reason, "topic %s refused the record: %s", topic, broker.Explain(code))
}

// identity is the producer id and the epoch of a writer's batches.
type identity interface {
	// remembered says whether a leader that has appended a batch with this latest timestamp still knows the
	// batch's numbers, and does not append the batch again.
	remembered(latest time.Time) bool
	// current returns the identity of the next record batch.
	current(ctx context.Context) (wire.Identity, error)
	// renew is called before a new sequence begins. After an error no batch may be written any more.
	renew() error
	// refused is called when a leader has refused the identity for the reason err. After an error no batch
	// may be written any more.
	refused(err error) error
}

// fencedIdentity is the identity that a take-over has established. It is never changed: a new one comes from
// a new take-over.
type fencedIdentity struct {
	as     wire.Identity
	memory time.Duration // how long leaders remember a producer
}

func (f fencedIdentity) current(context.Context) (wire.Identity, error) { return f.as, nil }

func (f fencedIdentity) remembered(latest time.Time) bool {
	return time.Since(latest) <= f.memory/renewalsInMemory
}

func (fencedIdentity) renew() error { return ErrStandingLost }

func (fencedIdentity) refused(err error) error {
	if react(err) == leave {
		return ErrTakenOver
	}
	return ErrStandingLost
}

// ownIdentity is a producer id of the writer's own, with no transactional id. Nobody else writes under it. So
// the writer chooses each new epoch itself: leaders accept any higher one. The Java client does the same
// since version 2.5.
//
// Two cases remain in which a retry can repeat records. Brokers forget a producer id that has been silent for
// producer.id.expiration.ms (a day by default). And if a limit of the topic is lowered between two attempts,
// a batch that was already appended is sent again in parts, or becomes dead letters.
type ownIdentity struct {
	cluster *broker.Cluster
	as      wire.Identity // its ID is wire.NoProducerID if there is none yet
}

func newOwnIdentity(c *broker.Cluster) *ownIdentity {
	return &ownIdentity{cluster: c, as: wire.Identity{ID: wire.NoProducerID}}
}

func (o *ownIdentity) current(ctx context.Context) (as wire.Identity, err error) {
	if o.as.ID == wire.NoProducerID {
		if as, err = o.cluster.Wire.NewProducer(ctx); err != nil {
			return as, o.cluster.RootCause(ctx, err)
		}
		o.as = as
	}
	return o.as, nil
}

// remembered is always true: where a leader has forgotten the batch, its records are repeated, as any redelivery may.
func (o *ownIdentity) remembered(time.Time) bool { return true }

// renew takes the next epoch, or a new id after the last epoch. It sends no request for the epoch.
func (o *ownIdentity) renew() error {
	if o.as.Epoch++; o.as.Epoch < 0 {
		o.as.ID = wire.NoProducerID
	}
	return nil
}

func (o *ownIdentity) refused(error) error {
	o.as.ID = wire.NoProducerID
	return nil
}
