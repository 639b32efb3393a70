package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
)

const (
	valuePartitions = 12
	valueResident   = 400 << 20 // bounds the peak memory of a service with default limits, in bytes
)

// Values of a few bytes that decompress to megabytes do not end the service, and ordinary articles beside them are decided.
func TestCompressedValues(t *testing.T) {
	s := newStage(t, 3)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(time.Minute))
	require.NoError(t, err)
	defer client.Close()
	send := func(partition int32, n int, value []byte) { // one record batch of equal values
		for range n {
			client.Produce(context.Background(), &kgo.Record{Topic: s.input, Partition: partition, Value: value}, nil)
		}
		require.NoError(t, client.Flush(t.Context()))
	}
	kafkaserver.CreateTopics(t, client, valuePartitions, nil, s.input)
	s.createOutputs(t, "small", nil)
	for i, title := range []int{4 << 20, 1<<20 - 1<<10} { // the first ones are too large
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		require.NoError(t, json.NewEncoder(w).Encode(map[string]string{
			"text": "A text of few words in partition " + strconv.Itoa(i), "title": strings.Repeat("a", title),
		}))
		require.NoError(t, w.Close())
		send(int32(i), 256, packed.Bytes())
	}
	p := s.start(t, "small", nil)
	for i := range int32(valuePartitions) { // behind all that stands there
		send(i, 1, text(fmt.Sprintf("The harbour of town %d was closed on Monday because of a storm from the west.", i)))
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(s.kafka), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeTopics(s.topic("small", "unique"), s.topic("small", "duplicate")))
	require.NoError(t, err)
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for seen := 0; seen < valuePartitions; {
		fetches := reader.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "%d of %d ordinary articles came out, %d MiB at the peak", seen, valuePartitions,
			p.PeakMemory()>>20)
		fetches.EachRecord(func(r *kgo.Record) {
			if bytes.Contains(r.Value, []byte("harbour")) {
				seen++
			}
		})
	}
	require.Less(t, p.PeakMemory(), int64(valueResident))
}
