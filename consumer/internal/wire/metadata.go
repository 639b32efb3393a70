package wire

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata is a broker's answer about the cluster and the requested topics.
type Metadata struct {
	Brokers int // number of brokers
	Topics  []Topic
}

// Topic is one topic of a Metadata answer.
type Topic struct {
	Name string
	ID   TopicID
	// kafka.Error: kafka.UnknownTopicOrPartition if the topic does not exist or this user may not see it
	Err        error
	Partitions []Partition
	// Operations has a bit for each operation that this user may do on the topic: see MayRead and MayWrite.
	Operations Operations
}

// Partition is one partition of a Topic.
type Partition struct{ ID, Leader int32 } // Leader is negative if there is none

// TopicID tells a topic from another one of the same name that was created later. Brokers before Kafka 2.8 have no
// ids: all bytes are zero.
type TopicID [16]byte

// Known says whether the broker gave an id.
func (id TopicID) Known() bool { return id != TopicID{} }

// String returns the id as Kafka's tools write it.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// Operations are the authorized operations of a topic, by bit.
type Operations int32

// Bits of Operations.
const (
	MayRead  Operations = 1 << 3
	MayWrite Operations = 1 << 4
)

// Lack says whether the broker has listed the operations and one is not among them. Brokers before Kafka 2.3
// list no operations.
func (o Operations) Lack(one Operations) bool {
	const notListed = -1 << 31
	return o != notListed && o != 0 && o&one == 0
}

// Metadata asks a broker about topics, past the transport's cache. Errors of single topics are in Topic.Err.
func (c *Client) Metadata(ctx context.Context, topics ...string) (*Metadata, error) {
	m, err := c.roundTrip(ctx, &metadataRequest{clientID: c.ClientID, topics: topics})
	if err != nil {
		return nil, err
	}
	return m.(*Metadata), nil
}

// ApiKey implements protocol.Message.
func (*Metadata) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive // name given by the interface

// metadataRequest is a Metadata request in a version that has topic ids. kafka-go's own request has none, and
// the transport answers it from its cache.
type metadataRequest struct {
	clientID string
	topics   []string
}

var _ protocol.RawExchanger = (*metadataRequest)(nil)

// metadataVersion is the latest version of the request that is used. It names topics by name and by id.
const metadataVersion = 12

// ApiKey implements protocol.Message.
func (*metadataRequest) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive // name given by the interface

// Required implements protocol.RawExchanger: always.
func (*metadataRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements protocol.RawExchanger.
func (r *metadataRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	highest, err := versions(rw, r.clientID)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Version = min(highest[protocol.Metadata], metadataVersion)
	req.IncludeTopicAuthorizedOperations = true // sent from version 8 on
	for _, topic := range r.topics {
		named := kmsg.NewMetadataRequestTopic()
		named.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, named)
	}
	res := req.ResponseKind().(*kmsg.MetadataResponse)
	if err := exchange(rw, r.clientID, req, res); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return metadataOf(res), nil
}

func metadataOf(res *kmsg.MetadataResponse) *Metadata {
	m := &Metadata{Brokers: len(res.Brokers)}
	for _, t := range res.Topics {
		topic := Topic{ID: t.TopicID, Operations: Operations(t.AuthorizedOperations)}
		if t.Topic != nil {
			topic.Name = *t.Topic
		}
		if t.ErrorCode != 0 {
			topic.Err = kafka.Error(t.ErrorCode)
		}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, Partition{ID: p.Partition, Leader: p.Leader})
		}
		m.Topics = append(m.Topics, topic)
	}
	return m
}
