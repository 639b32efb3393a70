package hostile

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/test/forged"
	"echosieve/test/kafkaserver"
)

// Whoever may write to an output topic can append batches under the service's producer id. A start skips the
// records that cannot be its outputs, takes no memory for the offsets that they claim, and decides the rest.
// Package delivery has the case of an epoch above its own.
func TestForgedOutputs(t *testing.T) {
	s := newStage(t, 7)
	s.createTopics(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	more := func() {
		t.Helper()
		s.publish(t, []record{unique("an article", text(strings.Join(words(s.random, 60, latin), " ")))})
	}
	more()
	p := s.start(t, "small", nil)
	s.watch(t, "small")
	p.End(t)

	inputs := []string{s.input + "/0/9223372036854775807", s.input + "/0/34359738368", "other/0/0", "no coordinates", ""}
	count, err := forged.Append(ctx, kafkaserver.Client(t, s.kafka), s.topic("small", "unique"), 0, pipeline.HeaderInput, inputs, 0)
	require.NoError(t, err)
	require.Equal(t, len(inputs)+forged.Padding, count, "one producer")
	more()
	p = s.start(t, "small", nil)
	_, again := s.watch(t, "small")
	require.Empty(t, again)
	require.EqualValues(t, count, p.Metric(t, `echosieve_consumer_skipped_records_total{reason="foreign"}`))
	require.Contains(t, p.Log(), s.topic("small", "unique")+"/0/", "the first ones are named")
	require.Less(t, p.peak(t), 400<<20)
	p.End(t)
}
