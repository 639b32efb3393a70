package consumer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"echosieve/pipeline"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// router is a Handler that sends records by the first byte of their value: d to duplicate, x to dead, s to
// nowhere, all else to unique. It notes what it saw.
type router struct {
	decide func(ctx context.Context, recs []pipeline.Record) error

	mu        sync.Mutex
	published int
}

func (r *router) Prepare(recs []pipeline.Record) *pipeline.Batch {
	return &pipeline.Batch{Records: recs}
}

func (r *router) Decide(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error) {
	if r.decide != nil {
		if err := r.decide(ctx, b.Records); err != nil {
			return nil, err
		}
	}
	var out []pipeline.Output
	for i := range b.Records {
		rec := &b.Records[i]
		to := pipeline.ToUnique
		switch {
		case bytes.HasPrefix(rec.Value, []byte("s")):
			continue
		case bytes.HasPrefix(rec.Value, []byte("d")):
			to = pipeline.ToDuplicate
		case bytes.HasPrefix(rec.Value, []byte("x")):
			to = pipeline.ToDead
		}
		headers := append(append([]pipeline.Header{}, rec.Headers...), pipeline.Header{Key: pipeline.HeaderSource, Value: []byte(rec.String())})
		out = append(out, pipeline.Output{Record: rec, Destination: to, Headers: headers})
	}
	return out, nil
}

func (r *router) Published(outputs []pipeline.Output, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published += len(outputs)
}

// health remembers the last report.
type health struct {
	mu  sync.Mutex
	err error
}

func (h *health) report(_ string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *health) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// testConfig is quick to notice and to commit.
func testConfig(brokers ...string) Config {
	cfg := DefaultConfig()
	cfg.Brokers = brokers
	cfg.CreateTopics = true
	cfg.Partitions = 3
	cfg.Replication = 1
	cfg.FetchMaxWait = 100 * time.Millisecond
	cfg.CommitInterval = 100 * time.Millisecond
	cfg.SessionTimeout = 6 * time.Second
	cfg.HeartbeatInterval = 100 * time.Millisecond
	cfg.DrainTimeout = 2 * time.Second
	return cfg
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// member is a running Consumer.
type member struct {
	*Consumer
	reg    *prometheus.Registry
	health *health
	cancel context.CancelFunc
	done   chan error
}

func startMember(t *testing.T, cfg Config, h Handler) *member {
	t.Helper()
	m := &member{reg: prometheus.NewRegistry(), health: &health{}, done: make(chan error, 1)}
	c, err := New(cfg, h, m.reg, testLog(t), m.health.report)
	require.NoError(t, err)
	m.Consumer = c
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() { m.done <- c.Run(ctx) }()
	t.Cleanup(func() { m.cancel() })
	return m
}

// stop ends the member and waits for Run.
func (m *member) stop(t *testing.T) {
	t.Helper()
	m.cancel()
	select {
	case err := <-m.done:
		m.done <- err
		require.NoError(t, err)
	case <-time.After(40 * time.Second):
		t.Fatal("Run did not return")
	}
}

// value returns the sum of a metric over its labels.
func (m *member) value(t *testing.T, name string) float64 {
	t.Helper()
	families, err := m.reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			sum := 0.0
			for _, v := range f.GetMetric() {
				sum += v.GetCounter().GetValue() + v.GetGauge().GetValue()
			}
			return sum
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func fake(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, Config) {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second)}, opts...)
	c, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, testConfig(c.ListenAddrs()...)
}

func client(t *testing.T, cfg Config, opts ...kgo.Opt) *kgo.Client {
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
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, cl.ProduceSync(ctx, recs...).FirstErr())
}

// numbered makes n records "<prefix><i>" spread over the partitions.
func numbered(topic, prefix string, n, partitions int) []*kgo.Record {
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: fmt.Appendf(nil, "%s%06d", prefix, i)}
	}
	return recs
}

// consumeUntil reads topics from the start until enough returns true.
func consumeUntil(t *testing.T, cfg Config, topics []string, enough func(all []*kgo.Record) bool) []*kgo.Record {
	t.Helper()
	cl := client(t, cfg, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
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

// bySource maps coordinates in the input to the copies of that record in the outputs.
func bySource(recs []*kgo.Record) map[string][]*kgo.Record {
	m := make(map[string][]*kgo.Record)
	for _, r := range recs {
		m[header(r, pipeline.HeaderSource)] = append(m[header(r, pipeline.HeaderSource)], r)
	}
	return m
}

func ensureTopics(t *testing.T, cfg Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, EnsureTopics(ctx, cfg))
}
