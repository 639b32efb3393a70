package wire

import (
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// One request tells of several topics, with ids, partitions and leaders. A topic that does not exist does not
// hide the others.
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

func TestOperations(t *testing.T) {
	require.True(t, MayRead.Lack(MayWrite))
	require.False(t, (MayRead | MayWrite).Lack(MayWrite))
	require.False(t, Operations(0).Lack(MayRead))
	require.False(t, Operations(-1<<31).Lack(MayRead), "the broker listed none")
}
