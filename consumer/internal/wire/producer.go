package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// operationNotAttempted is the code of a partition that was not added because another one was refused.
// kafka-go calls it BrokerAuthorizationFailed.
const operationNotAttempted = kafka.Error(55)

// The versions of the requests. EndTxn must not be higher: from version 5 on the coordinator raises the epoch at each
// end of a transaction.
const (
	initVersion   = 4
	addVersion    = 3
	endTxnVersion = 3
)

// NewProducer asks any broker for a new producer id and its first epoch, without a transactional id.
func (c *Client) NewProducer(ctx context.Context) (Identity, error) {
	return c.initProducer(ctx, anyBroker, kmsg.NewPtrInitProducerIDRequest())
}

// InitProducer returns the producer id that belongs to the transactional id, with an epoch above every epoch
// that was given out before. If a transaction of the id is open, the coordinator aborts it and answers
// kafka.ConcurrentTransactions (51) until that is done. timeout is how long a transaction of this identity
// may stay open before the coordinator aborts it.
func (c *Client) InitProducer(ctx context.Context, node int32, transactionalID string, timeout time.Duration) (
	Identity, error,
) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &transactionalID, int32(timeout.Milliseconds())
	return c.initProducer(ctx, node, req)
}

func (c *Client) initProducer(ctx context.Context, node int32, req *kmsg.InitProducerIDRequest) (Identity, error) {
	req.Version = initVersion
	res, err := ask[*kmsg.InitProducerIDResponse](ctx, c, node, req)
	if err = cmp.Or(err, codeOf(res.ErrorCode)); err != nil {
		return Identity{NoProducerID, -1}, err
	}
	return Identity{res.ProducerID, res.ProducerEpoch}, nil
}

// AddPartitions opens a transaction of the identity, if none is open, and adds the partitions to it. The
// coordinator adds all or none. After an error that is no kafka.Error the request may still be carried out,
// also after a later EndTransaction, and would then open another transaction: the caller must get a new epoch
// with InitProducer before it goes on.
func (c *Client) AddPartitions(ctx context.Context, node int32, transactionalID string, as Identity,
	partitions []TopicPartition,
) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = addVersion, transactionalID, as.ID, as.Epoch
	for _, p := range partitions {
		req.Topics = append(req.Topics,
			kmsg.AddPartitionsToTxnRequestTopic{Topic: p.Topic, Partitions: []int32{p.Partition}})
	}
	res, err := ask[*kmsg.AddPartitionsToTxnResponse](ctx, c, node, req)
	if err != nil {
		return err
	}
	// The cause is the code of the partition that was refused for itself.
	var refused error
	for _, topic := range res.Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 && (refused == nil || errors.Is(refused, operationNotAttempted)) {
				refused = fmt.Errorf("%s/%d: %w", topic.Topic, p.Partition, codeOf(p.ErrorCode))
			}
		}
	}
	return refused
}

// EndTransaction commits the open transaction of the identity. The answer comes before the markers are in the
// partitions' logs.
func (c *Client) EndTransaction(ctx context.Context, node int32, transactionalID string, as Identity) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = endTxnVersion, transactionalID, as.ID, as.Epoch
	req.Commit = true
	res, err := ask[*kmsg.EndTxnResponse](ctx, c, node, req)
	return cmp.Or(err, codeOf(res.ErrorCode))
}

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
