package consumer

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicState is what the group's positions in a topic rest on.
type topicState struct {
	id         topicID
	partitions int
}

// topicID tells a topic from one of the same name that was made later. Brokers before Kafka 2.8 have none: all zero.
type topicID [16]byte

func (id topicID) known() bool { return id != topicID{} }

// topicState asks a broker, past the transport's cache. A topic that does not exist is kafka.UnknownTopicOrPartition.
func (c *cluster) topicState(ctx context.Context, topic string) (topicState, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.addr, &topicStateRequest{clientID: c.cfg.ClientID, topic: topic})
	if err != nil {
		return topicState{}, err
	}
	return *m.(*topicState), nil
}

// ApiKey implements protocol.Message.
func (*topicState) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive // name given by the interface

// topicStateRequest is a Metadata request in a version that has topic ids: kafka-go's own has none.
type topicStateRequest struct{ clientID, topic string }

var _ protocol.RawExchanger = (*topicStateRequest)(nil)

const (
	// topicIDVersion of the Metadata request is the latest that we use; it knows topics by name and by id.
	topicIDVersion = 12
	// maxMetadataBytes bounds what a wrong length can cost.
	maxMetadataBytes = 16 << 20
)

// ApiKey implements protocol.Message.
func (*topicStateRequest) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive // name given by the interface

// Required implements protocol.RawExchanger: always.
func (*topicStateRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements protocol.RawExchanger. It asks for the versions itself: kafka-go hides those that it does not know.
func (r *topicStateRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	m, err := protocol.RoundTrip(rw, 0, correlationID, r.clientID, &apiversions.Request{})
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, k := range m.(*apiversions.Response).ApiKeys {
		if k.ApiKey == req.Key() {
			req.Version = min(k.MaxVersion, topicIDVersion)
		}
	}
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(r.topic)}}
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(r.clientID))
	if _, err := rw.Write(format.AppendRequest(nil, req, correlationID)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(rw, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxMetadataBytes {
		return nil, fmt.Errorf("metadata response of %d bytes", n)
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(rw, buf); err != nil {
		return nil, err
	}
	res := req.ResponseKind().(*kmsg.MetadataResponse)
	buf = buf[4:] // correlation id
	if res.IsFlexible() && len(buf) > 0 {
		buf = buf[1:] // number of tagged fields: brokers have none here
	}
	if err := res.ReadFrom(buf); err != nil {
		return nil, fmt.Errorf("metadata response: %w", err)
	}
	if len(res.Topics) != 1 {
		return nil, fmt.Errorf("metadata response has %d topics", len(res.Topics))
	}
	if code := res.Topics[0].ErrorCode; code != 0 {
		return nil, kafka.Error(code)
	}
	return &topicState{id: res.Topics[0].TopicID, partitions: len(res.Topics[0].Partitions)}, nil
}
