package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Produce sends one encoded batch to the leader of the partition and waits until all in-sync replicas have
// it. It returns the offset of the batch's first record. After an error the broker may have appended the
// batch, or may still append it later. batch may be changed as soon as Produce returns.
func (c *Client) Produce(ctx context.Context, topic string, partition int, batch []byte) (base int64, err error) {
	// The deadline also ends a connection on which no answer comes.
	ctx, cancel := context.WithTimeout(ctx, 2*RequestTimeout)
	defer cancel()
	client := kafka.Client{Addr: c.Addr, Transport: c.Transport, Timeout: RequestTimeout}
	prefix := binary.BigEndian.AppendUint32(nil, uint32(len(batch)))
	// The request gets a copy: after an error kafka-go may still be writing it while the next attempt changes
	// the batch.
	res, err := client.RawProduce(ctx, &kafka.RawProduceRequest{
		Topic:        topic,
		Partition:    partition,
		RequiredAcks: kafka.RequireAll,
		RawRecords:   protocol.RawRecordSet{Reader: bytes.NewReader(slices.Concat(prefix, batch))},
	})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return -1, err
	}
	return res.BaseOffset, nil
}
