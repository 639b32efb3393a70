package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
)

// NoProducerID stands in batches of a producer that is not idempotent.
const NoProducerID = -1

// ErrNoProducerIDs is returned by InitProducerID for brokers that are not Kafka and leave the request out.
var ErrNoProducerIDs = errors.New("the broker does not offer InitProducerId")

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

// InitProducerID asks any broker for a new producer id and its first epoch, without a transactional id.
func (c *Client) InitProducerID(ctx context.Context) (id int64, epoch int16, err error) {
	m, err := c.roundTrip(ctx, &producerIDRequest{clientID: c.ClientID})
	if err != nil {
		return NoProducerID, -1, err
	}
	res := m.(producerIDResponse)
	if res.ErrorCode != 0 {
		return NoProducerID, -1, fmt.Errorf("producer id: %w", kafka.Error(res.ErrorCode))
	}
	return res.ProducerID, res.ProducerEpoch, nil
}

// producerIDRequest is an InitProducerId request that any broker may answer. See the package comment for
// kafka-go's own.
type producerIDRequest struct {
	clientID string
	version  int16 // negotiated; -1: the broker has no such request
}

type producerIDResponse struct{ *initproducerid.Response }

var _ protocol.RawExchanger = (*producerIDRequest)(nil)

// ApiKey implements protocol.Message.
func (*producerIDRequest) ApiKey() protocol.ApiKey { return protocol.InitProducerId } //nolint:revive // name given by the interface

// Required implements protocol.RawExchanger: always.
func (r *producerIDRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = -1
	if v, ok := versions[protocol.InitProducerId]; ok {
		r.version = v
	}
	return true
}

// RawExchange implements protocol.RawExchanger.
func (r *producerIDRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < 0 {
		return nil, ErrNoProducerIDs
	}
	m, err := protocol.RoundTrip(rw, r.version, correlationID, r.clientID, &initproducerid.Request{
		ProducerID: NoProducerID, ProducerEpoch: -1,
	})
	if err != nil {
		return nil, err
	}
	return producerIDResponse{m.(*initproducerid.Response)}, nil
}
