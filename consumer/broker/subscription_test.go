package broker

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a connection of the group sends as subscription is what its version says, so that every client can read it.
func TestSubscriptionsCanBeRead(t *testing.T) {
	for _, version := range []int16{1, 2} {
		sent := kmsg.NewConsumerMemberMetadata()
		sent.Topics, sent.UserData = []string{"articles", "more"}, []byte("x")
		metadata := sent.AppendTo(nil) // version 0
		metadata[1] = 1                // as kafka-go says
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.ProtocolType = version, "g", "member", "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
		p := kmsg.NewRequestFormatter(kmsg.FormatterClientID("echosieve")).AppendRequest(nil, req, 7)
		at := subscription(p)
		require.Equal(t, metadata, p[at:at+len(metadata)])

		near, far := net.Pipe()
		go func() { _, _ = groupConn{near}.Write(p) }()
		got := make([]byte, len(p))
		_, err := far.Read(got)
		require.NoError(t, err)
		var read kmsg.ConsumerMemberMetadata
		require.NoError(t, read.ReadFrom(got[at:]))
		require.Equal(t, int16(0), read.Version)
		require.Equal(t, sent.Topics, read.Topics)
		for cut := range p { // no other request is changed, nor one that is cut off
			require.NotPanics(t, func() { subscription(p[:cut]) })
		}
	}
	heartbeat := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrHeartbeatRequest(), 7)
	require.Zero(t, subscription(heartbeat))
}
