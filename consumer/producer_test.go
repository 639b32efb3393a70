package consumer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"echosieve/pipeline"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestProducerPlacesKeysAsTheJavaClient(t *testing.T) {
	_, cfg := fake(t)
	cfg.Partitions = 7
	ensureTopics(t, cfg)
	p, err := NewProducer(cfg, cfg.Topics.Input)
	require.NoError(t, err)
	ctx := context.Background()
	const n = 500
	for i := 0; i < n; i += 50 {
		var recs []pipeline.Record
		for j := i; j < i+50; j++ {
			recs = append(recs, pipeline.Record{Key: fmt.Appendf(nil, "key-%d", j), Value: fmt.Append(nil, j)})
		}
		require.NoError(t, p.Produce(ctx, recs))
	}
	require.NoError(t, p.Produce(ctx, []pipeline.Record{{Value: []byte("a")}, {Value: []byte("b"), Time: time.UnixMilli(5)}}))
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	require.EqualValues(t, n+2, p.Acknowledged())
	require.Error(t, p.Produce(ctx, nil))

	java := kgo.StickyKeyPartitioner(nil).ForTopic(cfg.Topics.Input)
	for _, r := range consumeUntil(t, cfg, []string{cfg.Topics.Input}, atLeast(n+2)) {
		if r.Key != nil {
			require.EqualValues(t, java.Partition(r, 7), r.Partition, "key %s", r.Key)
			require.WithinDuration(t, time.Now(), r.Timestamp, time.Minute)
		} else if string(r.Value) == "b" {
			require.EqualValues(t, 5, r.Timestamp.UnixMilli())
		}
	}
}

func TestProducerReportsWhatCannotBeDelivered(t *testing.T) {
	_, cfg := fake(t)
	cfg.MaxMessageBytes = 4 << 20
	cfg.Compression = "none"
	ensureTopics(t, cfg)
	p, err := NewProducer(cfg, cfg.Topics.Input)
	require.NoError(t, err)
	require.NoError(t, p.Produce(context.Background(), []pipeline.Record{{Value: make([]byte, 2<<20)}}))
	require.ErrorContains(t, p.Close(), "max.message.bytes")
}
