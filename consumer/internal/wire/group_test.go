package wire

import (
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A refusal is an error: somebody who takes it for success waits a session timeout for the member that did not leave.
func TestLeaveGroup(t *testing.T) {
	c, addrs := fakeBroker(t)
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("articles"))
	require.NoError(t, err)
	defer cl.Close()
	member := ""
	require.Eventually(t, func() bool {
		member, _ = cl.GroupMetadata()
		return member != ""
	}, time.Minute, time.Millisecond)
	require.ErrorIs(t, c.LeaveGroup(t.Context(), "g", "nobody"), kafka.UnknownMemberId)
	require.NoError(t, c.LeaveGroup(t.Context(), "g", member))
	require.ErrorIs(t, c.LeaveGroup(t.Context(), "g", member), kafka.UnknownMemberId, "the member has left")
}
