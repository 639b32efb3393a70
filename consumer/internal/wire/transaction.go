package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
)

// ErrNoTransactions is returned by Coordinator and by the requests to a coordinator if the broker does not offer them.
var ErrNoTransactions = errors.New("the broker does not offer transactions")

// operationNotAttempted is the code of a partition that was not added because another one was refused.
// kafka-go calls it BrokerAuthorizationFailed.
const operationNotAttempted = kafka.Error(55)

// Identity is what a batch says of its producer: an id that the cluster has given out, and the epoch of this
// id. A partition's leader refuses batches of an older epoch than the newest that it has seen.
type Identity struct {
	ID    int64
	Epoch int16
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String returns topic/partition.
func (p TopicPartition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// Coordinator returns the node id of the broker that coordinates the transactional id.
//
// kafka-go's own requests to coordinators are not used: kafka-go looks the coordinator up before each of
// them, and when the look-up is answered with an error code, kafka-go drops the code and sends the request to
// the node -1.
func (c *Client) Coordinator(ctx context.Context, transactionalID string) (node int32, err error) {
	m, err := c.Transport.RoundTrip(ctx, c.Addr, &findcoordinator.Request{Key: transactionalID,
		KeyType: int8(kafka.CoordinatorKeyTypeTransaction)})
	if err != nil {
		return -1, err
	}
	res := m.(*findcoordinator.Response)
	if res.ErrorCode != 0 {
		return -1, kafka.Error(res.ErrorCode)
	}
	return res.NodeID, nil
}

// InitProducer returns the producer id that belongs to the transactional id, with an epoch above every epoch
// that was given out before. If a transaction of the id is open, the coordinator aborts it and answers
// kafka.ConcurrentTransactions (51) until that is done. timeout is how long a transaction of this identity
// may stay open before the coordinator aborts it.
func (c *Client) InitProducer(ctx context.Context, node int32, transactionalID string, timeout time.Duration) (
	Identity, error) {
	m, err := c.coordinate(ctx, node, &initproducerid.Request{
		TransactionalID: transactionalID, TransactionTimeoutMs: int32(timeout.Milliseconds()),
		ProducerID: NoProducerID, ProducerEpoch: -1,
	})
	if err != nil {
		return Identity{NoProducerID, -1}, err
	}
	res := m.(*initproducerid.Response)
	if res.ErrorCode != 0 {
		return Identity{NoProducerID, -1}, kafka.Error(res.ErrorCode)
	}
	return Identity{res.ProducerID, res.ProducerEpoch}, nil
}

// AddPartitions opens a transaction of the identity, if none is open, and adds the partitions to it. The
// coordinator adds all or none. After an error that is no kafka.Error the request may still be carried out,
// also after a later EndTransaction, and would then open another transaction: the caller must get a new epoch
// with InitProducer before it goes on.
func (c *Client) AddPartitions(ctx context.Context, node int32, transactionalID string, as Identity,
	partitions []TopicPartition) error {
	topics := make([]addpartitionstotxn.RequestTopic, len(partitions))
	for i, p := range partitions {
		topics[i] = addpartitionstotxn.RequestTopic{Name: p.Topic, Partitions: []int32{p.Partition}}
	}
	m, err := c.coordinate(ctx, node, &addpartitionstotxn.Request{
		TransactionalID: transactionalID, ProducerID: as.ID, ProducerEpoch: as.Epoch, Topics: topics,
	})
	if err != nil {
		return err
	}
	// The cause is the code of the partition that was refused for itself.
	var refused error
	for _, topic := range m.(*addpartitionstotxn.Response).Results {
		for _, p := range topic.Results {
			if code := kafka.Error(p.ErrorCode); code != 0 &&
				(refused == nil || errors.Is(refused, operationNotAttempted)) {
				refused = fmt.Errorf("%s/%d: %w", topic.Name, p.PartitionIndex, code)
			}
		}
	}
	return refused
}

// EndTransaction commits the open transaction of the identity. The answer comes before the markers are in the
// partitions' logs.
func (c *Client) EndTransaction(ctx context.Context, node int32, transactionalID string, as Identity) error {
	m, err := c.coordinate(ctx, node, &endtxn.Request{
		TransactionalID: transactionalID, ProducerID: as.ID, ProducerEpoch: as.Epoch, Committed: true,
	})
	if err != nil {
		return err
	}
	if code := m.(*endtxn.Response).ErrorCode; code != 0 {
		return kafka.Error(code)
	}
	return nil
}

// coordinate sends a request to the coordinator, in the version that broker and kafka-go both know. EndTxn
// must stay at version 3, the highest that kafka-go knows: from version 5 on the coordinator raises the epoch
// at each end of a transaction.
func (c *Client) coordinate(ctx context.Context, node int32, request protocol.Message) (protocol.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return c.roundTrip(ctx, &coordinatorExchange{node: node, clientID: c.ClientID, request: request})
}

// coordinatorExchange sends a request to a broker whose node id is known.
type coordinatorExchange struct {
	node     int32
	clientID string
	request  protocol.Message
	version  int16 // negotiated; -1: the broker has no such request
}

var (
	_ protocol.BrokerMessage = (*coordinatorExchange)(nil)
	_ protocol.RawExchanger  = (*coordinatorExchange)(nil)
)

// ApiKey implements protocol.Message.
func (r *coordinatorExchange) ApiKey() protocol.ApiKey { return r.request.ApiKey() } //nolint:revive // name given by the interface

// Broker implements protocol.BrokerMessage.
func (r *coordinatorExchange) Broker(c protocol.Cluster) (protocol.Broker, error) {
	return brokerOf(c, r.node, "the coordinator")
}

// brokerOf returns a broker that must be known.
func brokerOf(c protocol.Cluster, node int32, role string) (protocol.Broker, error) {
	b, ok := c.Brokers[node]
	if !ok {
		return protocol.Broker{}, fmt.Errorf("broker %d, %s: %w", node, role, kafka.BrokerNotAvailable)
	}
	return b, nil
}

// Required implements protocol.RawExchanger: always.
func (r *coordinatorExchange) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = -1
	if v, ok := versions[r.request.ApiKey()]; ok {
		r.version = v
	}
	return true
}

// RawExchange implements protocol.RawExchanger.
func (r *coordinatorExchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < 0 {
		return nil, ErrNoTransactions
	}
	return protocol.RoundTrip(rw, r.version, correlationID, r.clientID, r.request)
}
