package consumer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func realCompacted(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	cl := kafkatest.Client(t, cfg)
	compact, often, soon := "compact", "200", "0.01"
	configs := map[string]*string{"cleanup.policy": &compact, "segment.ms": &often, "min.cleanable.dirty.ratio": &soon}
	_, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, configs, cfg.Topics.Input)
	require.NoError(t, err)
	kafkatest.EnsureTopics(t, cfg)
	var in []*kgo.Record
	for i := range 600 {
		in = append(in, &kgo.Record{
			Topic: cfg.Topics.Input, Key: fmt.Append(nil, i%7),
			Value: fmt.Appendf(nil, "u%d", i),
		})
	}
	kafkatest.Produce(t, cl, in[:500]...)
	compacted := func() int { // records left, by our own reader
		time.Sleep(250 * time.Millisecond)
		kafkatest.Produce(t, cl, &kgo.Record{Topic: cfg.Topics.Input, Key: []byte("roll"), Value: []byte("u")})
		return countRecords(t, cfg)
	}
	deadline := time.Now().Add(kafkatest.Patience)
	for compacted() > 100 {
		require.True(t, time.Now().Before(deadline), "the broker did not compact")
	}
	kafkatest.Produce(t, cl, in[500:]...)
	m := startMember(t, cfg, &router{})
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	last := map[string]string{}
	for _, r := range inUnique(t, cfg, in[593:]) {
		last[string(r.Key)] = string(r.Value)
	}
	for _, r := range in[593:] {
		require.Equal(t, string(r.Value), last[string(r.Key)])
	}
}

// countRecords reads the input topic with the consumer's own reader.
func countRecords(t *testing.T, cfg broker.Config) int {
	t.Helper()
	c, err := broker.New(cfg, cfg.Topics.All()...)
	require.NoError(t, err)
	defer c.Close()
	_, end, err := c.Offsets(context.Background(), cfg.Topics.Input, 0)
	require.NoError(t, err)
	n := 0
	for offset := int64(0); offset < end; {
		res, _, err := c.Fetch(context.Background(), broker.NewLimiter(100, 64<<20, nil), cfg.Topics.Input, 0, offset,
			cfg.FetchMaxBytes)
		require.NoError(t, err)
		records := wire.NewReader(res, offset, 1<<20, wire.Unbounded)
		for {
			_, ok, err := records.Next()
			require.NoError(t, err)
			if !ok {
				break
			}
			n++
		}
		offset = records.Offset()
	}
	return n
}
