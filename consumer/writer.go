package consumer

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/diag"
	"echosieve/pipeline/article"

	"github.com/segmentio/kafka-go"
)

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
	choose   func(partitions int) int // returns the partition of a batch; partitions is how many the topic has

	partition int       // of the latest batch; -1: none yet
	next      int32     // sequence number of the next record
	pending   bool      // a batch was sent, it is not known whether it was appended, and it is not given up
	end       int64     // offset after the latest acknowledged batch; -1: not known
	latest    time.Time // latest timestamp in the latest acknowledged batch since the fence; zero: there was none
}

func newWriter(c *broker.Cluster, as identity, to article.Destination, topic string, choose func(partitions int) int) *writer {
	return &writer{cluster: c, identity: as, to: to, topic: topic, choose: choose, partition: -1, end: -1}
}

// write sends the encoded batch of n records once. latest is the latest of their timestamps. After an error
// the caller has three choices: write the same batch again, write parts of it if the broker refused the
// batch, or call giveUp. After errStandingLost and errTakenOver no batch can be written any more.
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

// restart begins a new sequence.
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
	if to := w.choose(n); to != w.partition && (!w.pending || w.partition >= n) {
		first := w.partition < 0
		w.partition = to
		if !first {
			return w.restart()
		}
	}
	return nil
}

// identity is the producer id and the epoch of a writer's batches.
type identity interface {
	// remembered says whether a leader that has appended a batch with this latest timestamp still knows the
	// batch's numbers, and does not append the batch again.
	remembered(latest time.Time) bool

	// current returns the identity of the next record batch. wire.NoProducerID: batches carry no sequence numbers.
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

func (fencedIdentity) renew() error { return errStandingLost }

func (fencedIdentity) refused(err error) error {
	if react(err) == leave {
		return errTakenOver
	}
	return errStandingLost
}

// ownIdentity is a producer id of the writer's own, with no transactional id. Nobody else writes under it. So
// the writer chooses each new epoch itself: leaders accept any higher one. The Java client does the same
// since version 2.5.
//
// Two cases remain in which a retry can repeat records. Brokers forget a producer id that has been silent for
// producer.id.expiration.ms (a day by default). And if a limit of the topic is lowered between two attempts,
// a batch that was already appended is sent again in parts, or becomes dead letters.
type ownIdentity struct {
	ids *producerIDs
	as  wire.Identity // its ID is wire.NoProducerID if there is none yet
}

func newOwnIdentity(ids *producerIDs) *ownIdentity {
	return &ownIdentity{ids: ids, as: wire.Identity{ID: wire.NoProducerID}}
}

func (o *ownIdentity) current(ctx context.Context) (as wire.Identity, err error) {
	if o.as.ID == wire.NoProducerID {
		o.as.ID, o.as.Epoch, err = o.ids.next(ctx)
	}
	return o.as, err
}

// remembered is always true: where a leader has forgotten the batch, its records are repeated, as any redelivery may.
func (o *ownIdentity) remembered(time.Time) bool { return true }

// renew takes the next epoch, or a new id after the last epoch. It sends no request for the epoch.
func (o *ownIdentity) renew() error {
	switch {
	case o.as.Epoch == math.MaxInt16:
		o.as.ID = wire.NoProducerID
	case o.as.ID != wire.NoProducerID:
		o.as.Epoch++
	}
	return nil
}

func (o *ownIdentity) refused(error) error {
	o.as.ID = wire.NoProducerID
	return nil
}

// producerIDs gives a producer id to each writer that needs one. Safe for concurrent use.
type producerIDs struct {
	cluster *broker.Cluster
	refused atomic.Bool
	// onRefusal is called once, if brokers refuse ids.
	onRefusal func(*diag.Problem)
}

// next returns a new producer id with its first epoch. A broker may refuse ids because a right is missing, or
// because it does not know the request. From then on next returns wire.NoProducerID without an error, and
// batches carry no sequence numbers.
func (p *producerIDs) next(ctx context.Context) (id int64, epoch int16, err error) {
	if p.refused.Load() {
		return wire.NoProducerID, -1, nil
	}
	asking, cancel := context.WithTimeout(ctx, broker.RequestTimeout)
	defer cancel()
	id, epoch, err = p.cluster.Wire.InitProducerID(asking)
	err = p.cluster.RootCause(ctx, err)
	if problem := notIdempotent(err); problem != nil {
		if p.refused.CompareAndSwap(false, true) && p.onRefusal != nil {
			p.onRefusal(problem)
		}
		return wire.NoProducerID, -1, nil
	}
	return id, epoch, err
}

// notIdempotent explains why a broker gives no producer ids, if trying again is pointless. It returns nil for
// other errors and for nil.
func notIdempotent(err error) *diag.Problem {
	switch {
	case errors.Is(err, kafka.ClusterAuthorizationFailed):
		return &diag.Problem{
			Cause: "this user gets no producer id, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "grant Write on the output topics; with Kafka before 2.8 also grant IdempotentWrite on the " +
				"cluster; then restart",
			Err: err, Permanent: true,
		}
	case errors.Is(err, wire.ErrNoProducerIDs), errors.Is(err, kafka.UnsupportedVersion):
		return &diag.Problem{
			Cause:  "the broker gives no producer ids, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "use Kafka 2.3 or later",
			Err:    err, Permanent: true,
		}
	}
	return nil
}

// errForgetful says why a batch is not sent again.
var errForgetful = errors.New("the leader may have forgotten a batch of old articles that it has appended")

// transactionAbortable is the code 120, which kafka-go v0.4.51 does not name.
const transactionAbortable = kafka.Error(120)
