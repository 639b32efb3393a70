package consumer

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/segmentio/kafka-go"
)

// writer sends batches into one topic, one at a time, as an idempotent producer: each batch carries a producer id, an epoch
// and the sequence number of its first record. The leader of a partition remembers the last numbers of every producer id:
//
//   - A batch that was appended and whose acknowledgement was lost is sent again with the same numbers. The leader
//     acknowledges it without appending it again.
//   - A stalled broker holds a request. The client gives up, sends the batch again over another connection, and goes on. When
//     the broker comes to the held request, its numbers are old, and the broker refuses it.
//   - A batch is given up because the generation ended, and a broker still holds it. The next batch gets a higher epoch, so
//     the broker refuses the held one as soon as it has seen that epoch. If it appends the held one first, the redelivery of its
//     records repeats them, as any redelivery may.
//
// Writers share no state with each other: two of them may write to the same partition, with producer ids of their own, and
// neither waits for the other. Two cases remain in which a retry can repeat records: brokers forget a producer id that has been silent
// for producer.id.expiration.ms (a day), and max.message.bytes can be lowered between two attempts, so that a batch that was appended
// is sent again in parts. Not safe for concurrent use.
type writer struct {
	cluster *cluster
	ids     *producerIDs
	topic   string
	place   func(partitions int) int // chooses the partition of a batch

	partition int
	id        int64 // noProducerID: none yet, or refused
	epoch     int16
	next      int32 // sequence number of the next record
	pending   bool  // a batch was sent and is neither acknowledged nor given up
}

func newWriter(c *cluster, ids *producerIDs, topic string, place func(partitions int) int) *writer {
	return &writer{cluster: c, ids: ids, topic: topic, place: place, partition: -1, id: noProducerID}
}

// write sends the encoded batch of n records once. After an error the caller writes the same batch again, writes parts of it if
// the broker took none of it for its size, or calls giveUp.
func (w *writer) write(ctx context.Context, raw []byte, n int) error {
	if err := w.choosePartition(ctx); err != nil {
		return err
	}
	if w.id == noProducerID {
		var err error
		if w.id, w.epoch, err = w.ids.next(ctx); err != nil {
			return err
		}
		w.next = 0
	}
	w.number(raw)
	w.pending = true
	err := w.cluster.produceTo(ctx, w.topic, w.partition, raw)
	switch {
	case err == nil, errors.Is(err, kafka.DuplicateSequenceNumber): // the second: an earlier attempt was appended
		w.next = int32((int64(w.next) + int64(n)) & math.MaxInt32) // after the largest number comes 0
		w.pending = false
		return nil
	case errors.Is(err, kafka.OutOfOrderSequenceNumber), errors.Is(err, kafka.UnknownProducerId):
		// The leader has lost our numbers: it forgot a silent producer, the topic was recreated, or an unclean election took
		// acknowledged records back. It does not have this batch either, or it would know its numbers.
		w.renew()
	case errors.Is(err, kafka.InvalidProducerEpoch), errors.Is(err, kafka.InvalidProducerIDMapping), errors.Is(err, kafka.ProducerFenced):
		w.id = noProducerID
	}
	return err
}

// giveUp lets the next batch be another one than the batch that was written last. Reusing the numbers of a batch that may have
// been appended would make the broker take the next batch for it, and drop that.
func (w *writer) giveUp() {
	if w.pending {
		w.renew()
		w.pending = false
	}
}

// renew begins a new sequence, under the next epoch of the producer id or, after the last one, under a new id. As in the Java
// client since 2.5, no broker is asked for the epoch: leaders take any that is higher.
func (w *writer) renew() {
	w.next = 0
	if w.epoch == math.MaxInt16 {
		w.id = noProducerID
	}
	if w.id != noProducerID {
		w.epoch++
	}
}

// choosePartition keeps the partition of a pending batch as long as the topic has it: if partitions are added meanwhile, only
// that leader knows whether it has the batch.
func (w *writer) choosePartition(ctx context.Context) error {
	n, err := w.cluster.partitions(ctx, w.topic)
	if err != nil {
		return err
	}
	if to := w.place(n); to != w.partition && (!w.pending || w.partition >= n) {
		w.partition = to
		w.renew()
	}
	return nil
}

// number writes producer id, epoch and sequence number into an encoded batch.
func (w *writer) number(raw []byte) {
	epoch, next := w.epoch, w.next
	if w.id == noProducerID {
		epoch, next = -1, -1
	}
	binary.BigEndian.PutUint64(raw[43:], uint64(w.id))
	binary.BigEndian.PutUint16(raw[51:], uint16(epoch))
	binary.BigEndian.PutUint32(raw[53:], uint32(next))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
}
