package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience bounds each wait for a fact. Only a test that hangs reaches it.
const patience = 5 * time.Minute

// testConfig returns settings with short intervals: members notice changes and commit quickly. Its timeouts
// are long: on a busy machine no member loses its partitions, and drains end with a commit.
func testConfig(brokers ...string) broker.Config {
	cfg := broker.DefaultConfig()
	cfg.Brokers = brokers
	cfg.CreateTopics = true
	cfg.Partitions = 3
	cfg.Replication = 1
	cfg.FetchMaxWait = 100 * time.Millisecond
	cfg.CommitInterval = 100 * time.Millisecond
	cfg.SessionTimeout = 30 * time.Second
	cfg.DrainTimeout = 15 * time.Second
	return cfg
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func fake(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, broker.Config) {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second)}, opts...)
	c, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, testConfig(c.ListenAddrs()...)
}

func client(t *testing.T, cfg broker.Config, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.ProducerBatchMaxBytes(8 << 20),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return cl
}

func produce(t *testing.T, cl *kgo.Client, recs ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, cl.ProduceSync(ctx, recs...).FirstErr())
}

// numbered returns n records "<prefix><i>" spread over the partitions.
func numbered(topic, prefix string, n, partitions int) []*kgo.Record {
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: topic, Partition: int32(i % partitions),
			Value: fmt.Appendf(nil, "%s%06d", prefix, i)}
	}
	return recs
}

// consumeUntil reads topics from the start until enough returns true.
func consumeUntil(t *testing.T, cfg broker.Config, topics []string, enough func(all []*kgo.Record) bool) []*kgo.Record {
	t.Helper()
	cl := client(t, cfg, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all []*kgo.Record
	for !enough(all) {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("only %d records in %v", len(all), topics)
		}
		all = append(all, fs.Records()...)
	}
	return all
}

func atLeast(n int) func([]*kgo.Record) bool {
	return func(all []*kgo.Record) bool { return len(all) >= n }
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// bySource maps coordinates of an input record to the outputs made of it.
func bySource(recs []*kgo.Record) map[string][]*kgo.Record {
	m := make(map[string][]*kgo.Record)
	for _, r := range recs {
		m[header(r, pipeline.HeaderInput)] = append(m[header(r, pipeline.HeaderInput)], r)
	}
	return m
}

func ensureTopics(t *testing.T, cfg broker.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, EnsureTopics(ctx, cfg))
}

// codecs are the values of kafka.compression.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// compressions are the same codecs of the other client.
var compressions = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
}

// committed returns the sum of the group's offsets.
func committed(t *testing.T, cl *kgo.Client, cfg broker.Config) int64 {
	t.Helper()
	n, err := askCommitted(cl, cfg)
	require.NoError(t, err)
	return n
}

// askCommitted is committed for callers that retry: brokers answer with an error while the group has no
// coordinator yet.
func askCommitted(cl *kgo.Client, cfg broker.Config) (n int64, err error) {
	offsets, err := kadm.NewClient(cl).FetchOffsets(context.Background(), cfg.Group)
	if err == nil {
		err = offsets.Error()
	}
	offsets.Each(func(o kadm.OffsetResponse) { n += max(o.At, 0) })
	return n, err
}

// feed produces portions of 200 records until stop is called, so that a member which takes long to join finds
// records, however slow the machine is. The first portion is produced before feed returns. stop returns the
// number of records.
func feed(t *testing.T, cfg broker.Config, pause time.Duration) (stop func() int) {
	cl := client(t, cfg)
	const portion = 200
	// a client whose broker goes away before the first answer gives up
	produce(t, cl, numbered(cfg.Topics.Input, "u", portion, cfg.Partitions)...)
	n := portion
	ctx, cancel := context.WithCancel(t.Context())
	var feeding sync.WaitGroup
	feeding.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(pause)
			if err := cl.ProduceSync(t.Context(),
				numbered(cfg.Topics.Input, "u", portion, cfg.Partitions)...).FirstErr(); err != nil {
				if t.Context().Err() == nil {
					t.Error(err)
				}
				return
			}
			n += portion
		}
	})
	return func() int {
		cancel()
		feeding.Wait()
		return n
	}
}
