package delivery

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/diag"
	"echosieve/pipeline"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
)

// foreignOutputs appends record batches under our producer id that are none of our outputs. A take-over skips them,
// counts them and names them, and takes no memory for the offsets that they claim.
func foreignOutputs(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Input, "u", 10, 1)...)
	a := testTakeOver(t, cfg)
	first := takeOver(t, a)
	commitAt(t, a, 4, first.as.ID, first.ends)
	forged := []string{
		a.input + "/0/9223372036854775807", a.input + "/0/34359738368", a.input + "/0/10", a.input + "/1/5",
		"other/0/5", "no coordinates", "",
	}
	require.NoError(t, publishAs(a, first.as, 0, cfg.Topics.Unique, 4, 5))
	for i, source := range forged {
		require.NoError(t, publishRaw(a, first.as, int32(2+i), cfg.Topics.Unique, source))
	}
	require.NoError(t, publishAs(a, first.as, int32(2+len(forged)), cfg.Topics.Unique, 9))

	b := testTakeOver(t, cfg)
	b.inputEnd = func(ctx context.Context) (int64, error) {
		_, end, err := b.cluster.Offsets(ctx, b.input, b.partition)
		return end, err
	}
	second := takeOver(t, b)
	require.Equal(t, 3, second.acknowledged.len)
	for _, offset := range []int64{4, 5, 9} {
		require.True(t, second.acknowledged.has(offset), "offset %d", offset)
	}
	require.Equal(t, len(forged), second.foreign.count)
	require.Len(t, second.foreign.named, mostNamed)
	require.Contains(t, second.foreign.named[0], "but the input ends at offset 10")
	require.Contains(t, second.foreign.named[0], cfg.Topics.Unique+"/0/")
}

// foreignEpoch: another program has written with our producer id and an epoch above ours, which shuts our marker out,
// however often we get the next one.
func foreignEpoch(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	b := testTakeOver(t, cfg)
	second := takeOver(t, b)
	require.NoError(t, publishRaw(b, wire.Identity{ID: second.as.ID, Epoch: math.MaxInt16}, 0, cfg.Topics.Unique, ""))
	commitAt(t, b, 4, second.as.ID, second.ends)
	c := testTakeOver(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Patience)
	defer cancel()
	_, err := c.attempt(ctx, outputEnds(t, c))
	var problem *diag.Problem
	require.True(t, errors.As(err, &problem), "%v", err)
	require.Contains(t, problem.Cause, cfg.Topics.Unique+"/0/")
	require.Contains(t, problem.Remedy, "kafka.transactional_id_prefix")

	// The remedy works.
	d := testTakeOver(t, cfg)
	d.id = transactionalID("another-prefix", cfg.Topics.Input, 0)
	fourth := takeOver(t, d)
	require.NotEqual(t, second.as.ID, fourth.as.ID)
	require.False(t, fourth.fenced)
	require.NoError(t, publishAs(d, fourth.as, 0, cfg.Topics.Unique, 6))
}

// publishRaw sends one record that names source in its header, or that has no header.
func publishRaw(to *takeover, as wire.Identity, sequence int32, topic, source string) error {
	r := record.Record{Value: []byte("v"), Time: time.Now()}
	if source != "" {
		r.Headers = []record.Header{{Key: pipeline.HeaderInput, Value: []byte(source)}}
	}
	raw, err := wire.EncodeBatch([]record.Record{r}, 1)
	if err != nil {
		return err
	}
	wire.SetSequence(raw, as.ID, as.Epoch, sequence)
	_, err = to.cluster.Wire.Produce(context.Background(), topic, 0, raw)
	return err
}

// The set of offsets that were read back takes memory for the offsets in it, not for their distance.
func TestOffsetSet(t *testing.T) {
	var s offsetSet
	require.False(t, s.has(0))
	for _, offset := range []int64{7, 0, 1 << 62, math.MaxInt64, 7} {
		s.add(offset)
	}
	for _, offset := range []int64{7, 0, 1 << 62, math.MaxInt64} {
		require.True(t, s.has(offset))
	}
	for _, offset := range []int64{-1, 1, 6, 8, 64, 1<<62 - 1, math.MinInt64} {
		require.False(t, s.has(offset))
	}
	require.Equal(t, 4, s.len)
	require.Equal(t, int64(math.MaxInt64), s.highest)
	require.Len(t, s.words, 3)
}
