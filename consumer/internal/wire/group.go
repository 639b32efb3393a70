package wire

import (
	"context"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveGroup takes a member out of a consumer group. The error is kafka.UnknownMemberId if the group does not
// have the member.
//
// kafka-go's own request is not used: from version 1 of the answer on, kafka-go v0.4.51 takes the error code
// for a throttle time, so that each request seems to succeed.
func (c *Client) LeaveGroup(ctx context.Context, group, member string) error {
	m, err := c.roundTrip(ctx, &leaveExchange{clientID: c.ClientID, group: group, member: member})
	if err != nil {
		return err
	}
	if code := m.(*leaveAnswer).code; code != 0 {
		return kafka.Error(code)
	}
	return nil
}

// leaveVersion of the LeaveGroup request names one member. Kafka 2.0 and later know it.
const leaveVersion = 2

// leaveExchange is routed to the group's coordinator by kafka-go, which drops the error code of a look-up
// that fails. The request then goes to any broker, and kafka.NotCoordinatorForGroup comes back.
type leaveExchange struct{ clientID, group, member string }

// leaveAnswer is the broker's answer.
type leaveAnswer struct{ code int16 }

var (
	_ protocol.GroupMessage = (*leaveExchange)(nil)
	_ protocol.RawExchanger = (*leaveExchange)(nil)
)

// ApiKey implements protocol.Message.
func (*leaveExchange) ApiKey() protocol.ApiKey { return protocol.LeaveGroup } //nolint:revive // name given by the interface

// ApiKey implements protocol.Message.
func (*leaveAnswer) ApiKey() protocol.ApiKey { return protocol.LeaveGroup } //nolint:revive // name given by the interface

// Group implements protocol.GroupMessage.
func (r *leaveExchange) Group() string { return r.group }

// Required implements protocol.RawExchanger: always.
func (*leaveExchange) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange implements protocol.RawExchanger.
func (r *leaveExchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = leaveVersion, r.group, r.member
	res := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	if err := exchange(rw, r.clientID, req, res); err != nil {
		return nil, err
	}
	return &leaveAnswer{res.ErrorCode}, nil
}
