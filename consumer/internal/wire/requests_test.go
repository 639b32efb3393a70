package wire

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"echosieve/test/kafkaserver"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// One request tells of several topics, with ids, partitions and leaders.
func TestMetadata(t *testing.T) {
	c, _ := fakeBroker(t)
	m, err := c.Metadata(t.Context(), "articles", "nowhere")
	require.NoError(t, err)
	require.Equal(t, 1, m.Brokers)
	require.Len(t, m.Topics, 2)
	topics := map[string]Topic{}
	for _, topic := range m.Topics {
		topics[topic.Name] = topic
	}
	articles := topics["articles"]
	require.NoError(t, articles.Err)
	require.True(t, articles.ID.Known())
	require.Len(t, articles.Partitions, 1)
	require.GreaterOrEqual(t, articles.Partitions[0].Leader, int32(0))
	require.False(t, articles.Operations.Lack(MayRead))
	require.ErrorIs(t, topics["nowhere"].Err, kafka.UnknownTopicOrPartition)
}

// A response waits for memory in the connection, for longer than the broker keeps the connection.
func TestResponseThatWaitedTooLongIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		granted := make(chan struct{})
		ask := fetch{arrived: func() {}, FetchRequest: FetchRequest{
			MaxWait: time.Second, MaxResponse: 1 << 20, Reserve: func(int64) error { <-granted; return nil },
		}}
		ask.request = ask.message()
		ask.Required(map[protocol.ApiKey]int16{protocol.Fetch: fetchVersion})
		done := make(chan error)
		go func() {
			_, err := ask.RawExchange(here)
			done <- err
		}()
		var size [4]byte
		_, err := io.ReadFull(there, size[:])
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, there, int64(binary.BigEndian.Uint32(size[:])))
		require.NoError(t, err)
		_, err = there.Write(binary.BigEndian.AppendUint32(nil, 1<<16))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, there.Close())
		close(granted)
		require.ErrorIs(t, <-done, ErrLate)
	})
}

// A refusal is an error: somebody who takes it for success waits a session timeout for the member that did not leave.
func TestLeaveGroup(t *testing.T) {
	c, addrs := fakeBroker(t)
	cl := kafkaserver.Client(t, addrs[0], kgo.ConsumerGroup("g"), kgo.ConsumeTopics("articles"))
	member := ""
	require.Eventually(t, func() bool {
		member, _ = cl.GroupMetadata()
		return member != ""
	}, time.Minute, time.Millisecond)
	require.ErrorIs(t, c.LeaveGroup(t.Context(), "g", "nobody"), kafka.UnknownMemberId)
	require.NoError(t, c.LeaveGroup(t.Context(), "g", member))
	require.ErrorIs(t, c.LeaveGroup(t.Context(), "g", member), kafka.UnknownMemberId, "the member has left")
}
