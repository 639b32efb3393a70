package wire

import (
	"context"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
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
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = describeVersion, []string{group}
	res, err := c.askGroup(ctx, group, req)
	if err != nil {
		return nil, err
	}
	groups := res.(*kmsg.DescribeGroupsResponse).Groups
	if len(groups) != 1 {
		return nil, fmt.Errorf("the broker described %d groups, one was requested", len(groups))
	}
	if code := kafka.Error(groups[0].ErrorCode); code != 0 {
		return nil, code
	}
	members := make([]Member, len(groups[0].Members))
	for i, m := range groups[0].Members {
		members[i] = Member{m.MemberID, m.ClientID, m.ClientHost}
	}
	return members, nil
}

// LeaveGroup takes a member out of a consumer group. The error is kafka.UnknownMemberId if the group does not
// have the member.
//
// kafka-go's own request is not used: from version 1 of the answer on, kafka-go v0.4.51 takes the error code
// for a throttle time, so that each request seems to succeed.
func (c *Client) LeaveGroup(ctx context.Context, group, member string) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = leaveVersion, group, member
	res, err := c.askGroup(ctx, group, req)
	if err != nil {
		return err
	}
	if code := kafka.Error(res.(*kmsg.LeaveGroupResponse).ErrorCode); code != 0 {
		return code
	}
	return nil
}

// askGroup sends a request to the coordinator of a group.
func (c *Client) askGroup(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	m, err := c.roundTrip(ctx, &groupExchange{clientID: c.ClientID, group: group, request: req})
	if err != nil {
		return nil, err
	}
	return m.(*groupAnswer).response, nil
}

// groupExchange is routed to the group's coordinator by kafka-go, which drops the error code of a look-up
// that fails. The request then goes to any broker, and kafka.NotCoordinatorForGroup comes back.
type groupExchange struct {
	clientID, group string
	request         kmsg.Request
}

// groupAnswer is the broker's answer.
type groupAnswer struct{ response kmsg.Response }

var (
	_ protocol.GroupMessage = (*groupExchange)(nil)
	_ protocol.RawExchanger = (*groupExchange)(nil)
)

// ApiKey implements protocol.Message.
func (r *groupExchange) ApiKey() protocol.ApiKey { return protocol.ApiKey(r.request.Key()) } //nolint:revive // name given by the interface

// ApiKey implements protocol.Message.
func (a *groupAnswer) ApiKey() protocol.ApiKey { return protocol.ApiKey(a.response.Key()) } //nolint:revive // name given by the interface

// Group implements protocol.GroupMessage.
func (r *groupExchange) Group() string { return r.group }

// Required implements protocol.RawExchanger: always.
func (*groupExchange) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements protocol.RawExchanger.
func (r *groupExchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	res := r.request.ResponseKind()
	if err := exchange(rw, r.clientID, r.request, res); err != nil {
		return nil, err
	}
	return &groupAnswer{res}, nil
}
