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
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

const (
	valuePartitions = 12
	// valueResident bounds the peak memory of a service with default limits, and of a refill, in bytes.
	valueResident = 400 << 20
)

// Values of a few bytes that decompress to megabytes neither end the service nor a refill, and ordinary articles beside
// them are decided.
func TestCompressedValues(t *testing.T) {
	v := startValues(t)
	v.produce(t, 0, 256, 4<<20) // too large
	v.produce(t, 1, 256, 1<<20-1<<10)
	p := v.serve(t)
	v.ordinary(t, p)
	require.Less(t, p.PeakMemory(), int64(valueResident))
}

type values struct {
	settings service.Settings
	client   *kgo.Client
	input    string
}

func startValues(t *testing.T) *values {
	t.Helper()
	run := fmt.Sprintf("values-%d-", time.Now().UnixNano())
	v := &values{input: run + "in", settings: service.Settings{
		"kafka.brokers": kafkaserver.Shared(t).Addr, "redis.addrs": redisserver.Addr(t),
		"kafka.group": run + "group", "redis.namespace": run + "index", "kafka.topics.input": run + "in",
		"kafka.topics.unique": run + "unique", "kafka.topics.duplicate": run + "duplicate", "kafka.topics.dead": run +
			"dead",
	}}
	var err error
	v.client, err = kgo.NewClient(kgo.SeedBrokers(v.settings["kafka.brokers"]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(time.Minute))
	require.NoError(t, err)
	t.Cleanup(v.client.Close)
	kafkaserver.CreateTopics(t, v.client, valuePartitions, nil, v.input, run+"unique", run+"duplicate", run+"dead")
	return v
}

// produce publishes n equal values in one record batch. Each decompresses to an article with a title of so many bytes.
func (v *values) produce(t *testing.T, partition int32, n, title int) {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	require.NoError(t, json.NewEncoder(w).Encode(map[string]string{
		"text": "A text of few words in partition " + strconv.Itoa(int(partition)), "title": strings.Repeat("a", title),
	}))
	require.NoError(t, w.Close())
	for range n {
		v.send(partition, packed.Bytes())
	}
	require.NoError(t, v.client.Flush(t.Context()))
}

func (v *values) send(partition int32, value []byte) {
	v.client.Produce(context.Background(), &kgo.Record{Topic: v.input, Partition: partition, Value: value}, nil)
}

func (v *values) serve(t *testing.T) *service.Process {
	t.Helper()
	p := service.Start(t, v.settings)
	p.WaitReady(t)
	return p
}

// ordinary publishes an article into each partition behind all that stands there, and waits for the verdicts.
func (v *values) ordinary(t *testing.T, p *service.Process) {
	t.Helper()
	for i := range int32(valuePartitions) {
		v.send(i, text(fmt.Sprintf("The harbour of town %d was closed on Monday because of a storm from the west.", i)))
	}
	require.NoError(t, v.client.Flush(t.Context()))
	reader, err := kgo.NewClient(kgo.SeedBrokers(v.settings["kafka.brokers"]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeTopics(v.settings["kafka.topics.unique"], v.settings["kafka.topics.duplicate"]))
	require.NoError(t, err)
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for seen := 0; seen < valuePartitions; {
		fetches := reader.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "%d of %d ordinary articles came out, %d MiB at the peak", seen,
			valuePartitions, p.PeakMemory()>>20)
		fetches.EachRecord(func(r *kgo.Record) {
			if bytes.Contains(r.Value, []byte("harbour")) {
				seen++
			}
		})
	}
}
