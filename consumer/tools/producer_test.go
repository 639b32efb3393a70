package tools

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestProducerPlacesKeysAsTheJavaClient(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Partitions, cfg.MaxMessageBytes, cfg.Compression = 7, 4<<20, "none"
	kafkatest.EnsureTopics(t, cfg)
	p, err := NewProducer(cfg, cfg.Topics.Inputs[0])
	require.NoError(t, err)
	ctx := context.Background()
	const n = 500
	for i := 0; i < n; i += 50 {
		var recs []record.Record
		for j := i; j < i+50; j++ {
			recs = append(recs, record.Record{Key: fmt.Appendf(nil, "key-%d", j), Value: fmt.Append(nil, j)})
		}
		require.NoError(t, p.Produce(ctx, recs))
	}
	require.NoError(t, p.Produce(ctx,
		[]record.Record{{Value: []byte("a")}, {Value: []byte("b"), Time: time.UnixMilli(5)}}))
	require.ErrorContains(t, p.Produce(ctx, []record.Record{{Value: make([]byte, 2<<20)}}), "max.message.bytes")
	require.NoError(t, p.Close())
	require.EqualValues(t, n+2, p.Acknowledged())

	java := kgo.StickyKeyPartitioner(nil).ForTopic(cfg.Topics.Inputs[0])
	for _, r := range kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Inputs[0]}, kafkatest.AtLeast(n+2)) {
		if r.Key != nil {
			require.EqualValues(t, java.Partition(r, 7), r.Partition, "key %s", r.Key)
			require.WithinDuration(t, time.Now(), r.Timestamp, time.Minute)
		} else if string(r.Value) == "b" {
			require.EqualValues(t, 5, r.Timestamp.UnixMilli())
		}
	}
}

// A lost acknowledgement may repeat a record, but nothing is lost and the order of a key is kept.
func TestProducerRetriesKeepTheOrder(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	p, err := NewProducer(cfg, cfg.Topics.Inputs[0])
	require.NoError(t, err)
	f := &kafkatest.Faults{
		Key:    int16(kmsg.Produce),
		Choose: func(n int64) kafkatest.Fault { return []kafkatest.Fault{kafkatest.LoseAnswer, kafkatest.Pass}[n%2] },
	}
	f.Into(p.cluster)
	const n = 20
	for i := range n {
		require.NoError(t, p.Produce(t.Context(), []record.Record{{Key: []byte("k"), Value: fmt.Append(nil, i)}}))
	}
	require.NoError(t, p.Close())
	require.EqualValues(t, n, p.Acknowledged())
	require.Greater(t, f.Seen.Load(), int64(n), "the fault fired")
	next := 0
	for _, r := range kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Inputs[0]},
		func(all []*kgo.Record) bool { return slices.Contains(kafkatest.Values(all), "19") }) {
		at, err := strconv.Atoi(string(r.Value))
		require.NoError(t, err)
		require.LessOrEqual(t, at, next, "nothing is passed over")
		next = max(next, at+1)
	}
	require.Equal(t, n, next)
}
