package wire

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Member is a member of a consumer group, as its coordinator knows it.
type Member struct {
	ID       string
	ClientID string // the name that the client gave
	Host     string // the address that it came from
}

// The versions of the requests. DescribeGroups of Kafka 0.11 and later know 1; LeaveGroup, which names one member, of
// Kafka 2.0 and later 2.
const (
	describeVersion = 1
	leaveVersion    = 2
)

// Members returns the members of a consumer group, those that are joining included; none if the group does not exist.
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
		members[i] = Member{m.MemberID, m.ClientID, m.ClientHost}
	}
	return members, codeOf(res.Groups[0].ErrorCode)
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
	if err != nil {
		return err
	}
	return codeOf(res.ErrorCode)
}
