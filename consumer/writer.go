package consumer

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
)

// writer sends batches into one topic, one at a time, as an idempotent producer: each batch carries a producer id, an epoch
// and the sequence number of its first record. The leader of a partition remembers the last numbers of every producer id:
//
//   - The leader appends a batch, and the acknowledgement is lost. The writer sends the batch again with the same numbers. The
//     leader acknowledges it without appending it again.
//   - A stalled broker holds a request. The writer gives up on that connection, sends the batch again over another one, and
//     goes on. When the broker comes to the held request, its numbers are old, and the broker refuses it.
//   - The group generation ends, the writer gives up a batch, and a broker still holds the batch. The next batch carries a higher
//     epoch, so the broker refuses the held batch once it has seen that epoch. If the broker appends the held batch first, the
//     redelivery of its records repeats them, as any redelivery may.
//
// Each input partition has one writer for each output topic, and each writer has its own producer id. So two writers can write to the
// same output partition, and neither waits for the other.
//
// Two cases remain in which a retry can repeat records. Brokers forget a producer id that has been silent for
// producer.id.expiration.ms (a day by default). And if a limit of the topic is lowered between two attempts, a batch that was already
// appended is sent again in parts, or becomes dead letters. Not safe for concurrent use.
type writer struct {
	cluster *cluster
	ids     *producerIDs
	topic   string
	choose  func(partitions int) int // returns the partition of a batch; partitions is how many the topic has

	partition int
	id        int64 // wire.NoProducerID: none yet, or refused
	epoch     int16
	next      int32 // sequence number of the next record
	pending   bool  // a batch was sent and is neither acknowledged nor given up
}

func newWriter(c *cluster, ids *producerIDs, topic string, choose func(partitions int) int) *writer {
	return &writer{cluster: c, ids: ids, topic: topic, choose: choose, partition: -1, id: wire.NoProducerID}
}

// write sends the encoded batch of n records once. After an error the caller has three choices: write the same batch again,
// write parts of it if the broker refused the batch, or call giveUp.
func (w *writer) write(ctx context.Context, raw []byte, n int) error {
	if err := w.choosePartition(ctx); err != nil {
		return err
	}
	if w.id == wire.NoProducerID {
		var err error
		if w.id, w.epoch, err = w.ids.next(ctx); err != nil {
			return err
		}
		w.next = 0
	}
	wire.SetSequence(raw, w.id, w.epoch, w.next)
	w.pending = true
	err := w.cluster.rootCause(ctx, w.cluster.wire.Produce(ctx, w.topic, w.partition, raw))
	switch {
	case err == nil, errors.Is(err, kafka.DuplicateSequenceNumber): // a duplicate: an earlier attempt was appended
		w.next = int32((int64(w.next) + int64(n)) & math.MaxInt32) // 0 follows the largest number
		w.pending = false
		return nil
	case errors.Is(err, kafka.OutOfOrderSequenceNumber), errors.Is(err, kafka.UnknownProducerId):
		// The leader has lost our numbers: it forgot a silent producer, the topic was recreated, or an unclean election undid
		// acknowledged records. The leader does not have this batch either, or it would know the batch's numbers.
		w.renew()
	case errors.Is(err, kafka.InvalidProducerEpoch), errors.Is(err, kafka.InvalidProducerIDMapping), errors.Is(err, kafka.ProducerFenced):
		w.id = wire.NoProducerID
	}
	return err
}

// giveUp allows the next batch to differ from the batch that was written last. The last batch may have been appended: if the next
// one carried the same numbers, the broker would take it for a repeat and drop it.
func (w *writer) giveUp() {
	if w.pending {
		w.renew()
		w.pending = false
	}
}

// renew begins a new sequence under the next epoch of the producer id, or under a new id after the last epoch. It sends
// no request for the epoch: leaders accept any higher one. The Java client does the same since version 2.5.
func (w *writer) renew() {
	w.next = 0
	if w.epoch == math.MaxInt16 {
		w.id = wire.NoProducerID
	}
	if w.id != wire.NoProducerID {
		w.epoch++
	}
}

// choosePartition sets the partition of the next batch. A pending batch keeps its partition as long as the topic has that
// partition: if partitions are added meanwhile, only the leader to which the batch was sent knows whether it was appended.
func (w *writer) choosePartition(ctx context.Context) error {
	n, err := w.cluster.partitions(ctx, w.topic)
	if err != nil {
		return err
	}
	if to := w.choose(n); to != w.partition && (!w.pending || w.partition >= n) {
		w.partition = to
		w.renew()
	}
	return nil
}

// producerIDs gives a producer id to each writer that needs one. Safe for concurrent use.
type producerIDs struct {
	cluster *cluster
	refused atomic.Bool
	// onRefusal is called once, if brokers refuse ids.
	onRefusal func(*diag.Problem)
}

// next returns a new producer id with its first epoch. A broker may refuse ids because a right is missing, or because it does not
// know the request. From then on next returns wire.NoProducerID without an error, and batches carry no sequence numbers.
func (p *producerIDs) next(ctx context.Context) (id int64, epoch int16, err error) {
	if p.refused.Load() {
		return wire.NoProducerID, -1, nil
	}
	id, epoch, err = p.cluster.initProducerID(ctx)
	if problem := notIdempotent(err); problem != nil {
		if p.refused.CompareAndSwap(false, true) && p.onRefusal != nil {
			p.onRefusal(problem)
		}
		return wire.NoProducerID, -1, nil
	}
	return id, epoch, err
}

func (c *cluster) initProducerID(ctx context.Context) (id int64, epoch int16, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id, epoch, err = c.wire.InitProducerID(ctx)
	return id, epoch, c.rootCause(ctx, err)
}

// notIdempotent explains why a broker gives no producer ids, if trying again is pointless. It returns nil for other errors and for
// nil.
func notIdempotent(err error) *diag.Problem {
	switch {
	case errors.Is(err, kafka.ClusterAuthorizationFailed):
		return &diag.Problem{
			Cause:  "this user gets no producer id, so a batch whose acknowledgement was lost can be published twice",
			Remedy: "grant Write on the output topics; with Kafka before 2.8 also grant IdempotentWrite on the cluster; then restart",
			Err:    err, Permanent: true,
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
