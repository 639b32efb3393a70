package hostile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/frames"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
)

const (
	framePartitions = 200
	// frameResident bounds the peak memory of the service in bytes. It is GOMEMLIMIT of deploy/k8s/base, below the limit of the container.
	frameResident = 400 << 20
)

// hostileFrames are batches of one value that is too large and one article, which take much memory to decompress.
var hostileFrames = []struct {
	name  string
	opt   kgo.ProducerOpt
	value int // bytes
}{
	{"zstd with the largest window", kgo.WithCompressor(frames.Zstd{}), frames.Window/2 + 1<<20}, // a window of 64 MiB would be too small
	{"one block of snappy", kgo.ProducerBatchCompression(kgo.SnappyCompression()), 18 << 20},
	{"lz4 with the largest blocks", kgo.ProducerBatchCompression(kgo.Lz4Compression()), 12 << 20},
	{"gzip", kgo.ProducerBatchCompression(kgo.GzipCompression()), 12 << 20},
}

// Every partition holds a frame of each kind that takes much memory to decompress, between articles. The service, with the memory that the
// manifests allow it, decides them all without a restart: each article of a hostile frame as well.
func TestFramesOfManyPartitions(t *testing.T) {
	s := &stage{kafka: kafkaserver.Start(t, kafkaserver.V4).Addr, redis: redisserver.Addr(t), random: rand.New(rand.NewPCG(6, 0))}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.kafka))
	require.NoError(t, err)
	defer cl.Close()
	kafkaserver.CreateTopics(t, cl, framePartitions, nil, inputTopic)
	s.createOutputs(t, "frames", nil)
	start := time.Now()
	want := s.publishFrames(t)
	t.Logf("%d records published in %s", len(want), time.Since(start).Round(time.Second))

	p := s.start(t, "frames", nil, func(c *exec.Cmd) { c.Env = append(c.Env, fmt.Sprintf("GOMEMLIMIT=%d", frameResident)) })
	start = time.Now()
	got := s.reasons(t, "frames", len(want))
	t.Logf("%d records in %s, peak %d MiB resident", len(got), time.Since(start).Round(time.Second), p.peak(t)>>20)
	require.Equal(t, want, got)
	require.Less(t, p.peak(t), frameResident)
	require.Equal(t, 1.0, p.Metric(t, "echosieve_consumer_rebalances_total"), "it kept its membership")
}

// publishFrames publishes, in each partition, an article, and then for each kind of hostile frame one frame and one article. It returns the
// reason of each record's dead letter by the record's coordinates, "" for articles.
func (s *stage) publishFrames(t *testing.T) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	client := func(opt kgo.ProducerOpt) *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(s.kafka), kgo.DefaultProduceTopic(inputTopic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerBatchMaxBytes(1<<29), kgo.BrokerMaxWriteBytes(1<<30), kgo.ProducerLinger(time.Minute), opt)
		require.NoError(t, err)
		t.Cleanup(cl.Close)
		return cl
	}
	want := map[string]string{}
	send := func(cl *kgo.Client, records ...*kgo.Record) {
		acknowledged := make(chan error, len(records))
		for _, r := range records { // nothing is sent before Flush, so the records of a partition become one batch
			cl.Produce(ctx, r, func(_ *kgo.Record, err error) { acknowledged <- err })
		}
		require.NoError(t, cl.Flush(ctx))
		for _, r := range records {
			require.NoError(t, <-acknowledged)
			reason := ""
			if len(r.Value) > 1<<20 {
				reason = string(pipeline.TooLarge)
			}
			want[ledger.Coordinates(r)] = reason
		}
	}
	article := func(partition int) *kgo.Record {
		return &kgo.Record{Partition: int32(partition), Value: text(strings.Join(words(s.random, 60, latin), " "))}
	}
	ordinary := client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	articles := func() {
		var batch []*kgo.Record
		for p := range framePartitions {
			batch = append(batch, article(p))
		}
		send(ordinary, batch...)
	}
	articles()
	for _, f := range hostileFrames {
		cl, value := client(f.opt), bytes.Repeat([]byte("x"), f.value)
		var batches []*kgo.Record
		for p := range framePartitions {
			batches = append(batches, &kgo.Record{Partition: int32(p), Value: value}, article(p))
		}
		send(cl, batches...)
		articles()
	}
	require.Len(t, want, framePartitions*(1+3*len(hostileFrames)))
	return want
}

// reasons reads the output topics until records of n sources have come out. It returns the reasons of dead letters by the coordinates of
// the input records, "" for other outputs.
func (s *stage) reasons(t *testing.T, run string, n int) map[string]string {
	t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(s.kafka), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeTopics(s.topic(run, "unique"), s.topic(run, "duplicate"), s.topic(run, "dead")))
	require.NoError(t, err)
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	got := map[string]string{}
	for len(got) < n {
		fetches := reader.PollFetches(ctx)
		require.NoError(t, ctx.Err(), "%d of %d records came out", len(got), n)
		fetches.EachRecord(func(r *kgo.Record) {
			h := headersOf(r)
			require.NotContains(t, got, h[pipeline.HeaderInput], "was delivered twice although no process ended")
			got[h[pipeline.HeaderInput]] = ""
			if r.Topic == s.topic(run, "dead") {
				got[h[pipeline.HeaderInput]] = h[pipeline.HeaderReason]
			}
		})
	}
	return got
}
