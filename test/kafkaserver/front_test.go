package kafkaserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/loopback"
)

func client(t *testing.T, addrs ...string) *kgo.Client {
	c, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic("articles"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Servers speak to each other through the front. The test goes past it.
func TestFront(t *testing.T) {
	const n = 3
	counts := loopback.Counter{}
	reached := [][]string{}
	c := StartClusterBehind(t, func(own ...string) []string {
		reached = append(reached, counts.Front(t)(own...))
		return reached[len(reached)-1]
	}, V4, n)
	direct := client(t, c.Addrs()...)
	CreateTopics(t, direct, n, nil, "articles")
	var records []*kgo.Record
	for p := range int32(n) {
		records = append(records, &kgo.Record{Partition: p, Value: []byte("text")})
	}
	require.NoError(t, direct.ProduceSync(t.Context(), records...).FirstErr())
	for from := range n {
		asked := int64(0)
		for to := range n {
			require.Zero(t, counts[reached[to][0]].Load(), "a client that starts past the front stays there")
			if from != to {
				require.Positive(t, counts[reached[to][1+from]].Load(), "broker %d replicates from %d", from+1, to+1)
				asked += counts[reached[to][1+n+from]].Load()
			}
		}
		require.Positive(t, asked, "controller %d speaks to another", from+1)
	}
	brokers, err := kadm.NewClient(client(t, c.Servers[0].Reached)).ListBrokers(t.Context())
	require.NoError(t, err)
	require.Len(t, brokers, n)
	for i, b := range brokers {
		require.Equal(t, reached[i][0], loopback.Addr(int(b.Port)),
			"and one that starts at the front is told of the front")
	}
}
