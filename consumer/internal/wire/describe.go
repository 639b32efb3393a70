package wire

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"
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

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String returns topic/partition.
func (p TopicPartition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

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

// metadataVersion is the latest version of the request that is used. It has topic ids, and names topics by name.
const metadataVersion = 12

// Metadata asks a broker about topics, past the transport's cache. Errors of single topics are in Topic.Err.
func (c *Client) Metadata(ctx context.Context, topics ...string) (*Metadata, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = metadataVersion
	req.IncludeTopicAuthorizedOperations = true // sent from version 8 on
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &topic})
	}
	res, err := ask[*kmsg.MetadataResponse](ctx, c, anyBroker, req)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	m := &Metadata{Brokers: len(res.Brokers)}
	for _, t := range res.Topics {
		topic := Topic{ID: t.TopicID, Operations: Operations(t.AuthorizedOperations), Err: codeOf(t.ErrorCode)}
		if t.Topic != nil {
			topic.Name = *t.Topic
		}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, Partition{ID: p.Partition, Leader: p.Leader})
		}
		m.Topics = append(m.Topics, topic)
	}
	return m, nil
}

// Member is a member of a consumer group, as its coordinator knows it.
type Member struct {
	ID       string
	ClientID string // the name that the client gave
	Host     string // the address that it came from
	Topics   string // that it has subscribed to, with spaces between; none while the group rebalances
}

// The versions of the requests. DescribeGroups of Kafka 0.11 and later know 1; LeaveGroup, which names one member, of
// Kafka 2.0 and later 2.
const (
	describeVersion = 1
	leaveVersion    = 2
)

// Members returns the members of a consumer group, those that are joining included; none if the group does not exist.
//
// A group with members of the new protocol (KIP-848) is refused with kafka.InconsistentGroupProtocol: the broker would
// assign its partitions, and DescribeGroups does not show it.
//
// kafka-go's own request is not used: kafka-go v0.4.51 refuses an answer with a member whose metadata it cannot read.
func (c *Client) Members(ctx context.Context, group string) ([]Member, error) {
	node, err := c.Coordinator(ctx, kafka.CoordinatorKeyTypeConsumer, group)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = describeVersion, []string{group}
	res, err := ask[*kmsg.DescribeGroupsResponse](ctx, c, node, req)
	if err != nil {
		return nil, err
	}
	if len(res.Groups) != 1 {
		return nil, fmt.Errorf("the broker described %d groups, one was requested", len(res.Groups))
	}
	members := make([]Member, len(res.Groups[0].Members))
	for i, m := range res.Groups[0].Members {
		var subscribed kmsg.ConsumerMemberMetadata
		_ = subscribed.ReadFrom(m.ProtocolMetadata) // that of another kind of client names no topics
		members[i] = Member{m.MemberID, m.ClientID, m.ClientHost, strings.Join(subscribed.Topics, " ")}
	}
	if len(members) == 0 {
		if err := c.newProtocol(ctx, node, group); err != nil {
			return nil, err
		}
	}
	return members, codeOf(res.Groups[0].ErrorCode)
}

// newProtocol returns an error that names a member of the new protocol; nil if there is none, or if the broker does not
// say so.
func (c *Client) newProtocol(ctx context.Context, node int32, group string) error {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	res, err := ask[*kmsg.ConsumerGroupDescribeResponse](ctx, c, node, req)
	if err != nil || len(res.Groups) != 1 || res.Groups[0].ErrorCode != 0 || len(res.Groups[0].Members) == 0 {
		return nil //nolint:nilerr // a broker without the request has no such group
	}
	m := &res.Groups[0].Members[0]
	return fmt.Errorf("%s at %s has joined group %s with group.protocol=consumer: %w", m.ClientID, m.ClientHost, group,
		kafka.InconsistentGroupProtocol)
}

// LeaveGroup takes a member out of a consumer group. The error is kafka.UnknownMemberId if the group does not
// have the member.
//
// kafka-go's own request is not used: from version 1 of the answer on, kafka-go v0.4.51 takes the error code
// for a throttle time, so that each request seems to succeed.
func (c *Client) LeaveGroup(ctx context.Context, group, member string) error {
	node, err := c.Coordinator(ctx, kafka.CoordinatorKeyTypeConsumer, group)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = leaveVersion, group, member
	res, err := ask[*kmsg.LeaveGroupResponse](ctx, c, node, req)
	return cmp.Or(err, codeOf(res.ErrorCode))
}
