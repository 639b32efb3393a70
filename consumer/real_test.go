package consumer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline/article"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// TestRealKafka runs the tests that an in-process broker cannot answer.
func TestRealKafka(t *testing.T) {
	t.Parallel()
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		for name, test := range map[string]func(*testing.T, broker.Config){
			"transactions": realTransactions, "codecs": realCodecs, "compacted": realCompacted,
			"deleted": realDeleted, "recreated": realRecreated, "stale commit": realStaleCommit,
			"offset deltas":    realOffsetDeltas,
			"timestamp limits": realTimestampLimits,
			"lost verdicts":    realLostVerdicts,
			"late commit":      realLateCommit, "mixed delivery": realMixedDelivery,
			"recreated output": realRecreatedOutput,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				test(t, kafkatest.RealConfig(s, strings.ReplaceAll(name, " ", "-")))
			})
		}
	})
}

// TestBrokerGoesAndComesBack kills and restarts a broker under a member.
func TestBrokerGoesAndComesBack(t *testing.T) {
	t.Parallel()
	start := func(t testing.TB, version string) *kafkaserver.Server { return kafkaserver.Start(t, version) }
	kafkatest.OnVersions(t, start, func(t *testing.T, s *kafkaserver.Server) {
		realRestart(t, s, kafkatest.RealConfig(s, "restart"))
	})
}

func realTransactions(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg, kgo.TransactionalID(cfg.Group), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	plain := kafkatest.Client(t, cfg)
	ctx := context.Background()
	want := map[string]bool{}
	for i := range 20 {
		require.NoError(t, cl.BeginTransaction())
		commit := i%3 != 1
		for _, r := range kafkatest.Numbered(cfg.Topics.Input, fmt.Sprintf("u%d-%v-", i, commit), 30, 3) {
			kafkatest.Produce(t, cl, r)
			if commit {
				want[string(r.Value)] = true
			}
		}
		for _, r := range kafkatest.Numbered(cfg.Topics.Input, fmt.Sprintf("uplain%d-", i), 6, 3) {
			kafkatest.Produce(t, plain, r)
			want[string(r.Value)] = true
		}
		require.NoError(t, cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)))
	}
	m := startMember(t, cfg, &router{})
	out := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast(len(want)))
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	require.Len(t, out, len(want))
	for _, r := range out {
		require.True(t, want[string(r.Value)], "%s was taken back", r.Value)
	}
	require.EqualValues(t, 7*30, m.value(t, "echosieve_consumer_skipped_records_total")-20*3,
		"aborted records; a marker in each partition for each transaction")
}

// codecs are the values of kafka.compression.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// compressions are the same codecs of the other client.
var compressions = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
}

func realCodecs(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	var in []*kgo.Record
	for i, codec := range compressions {
		cl := kafkatest.Client(t, cfg, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(10*time.Millisecond))
		recs := kafkatest.Numbered(cfg.Topics.Input, fmt.Sprintf("%c%s %s", "udx"[i%3], codecs[i],
			strings.Repeat("words ", 100)), 300, 3)
		recs[0].Key, recs[1].Key = []byte{}, []byte("key")
		recs[2].Headers = []kgo.RecordHeader{
			{Key: "nil"},
			{Key: "empty", Value: []byte{}},
			{Key: "", Value: []byte("v")},
		}
		recs[3].Timestamp = time.UnixMilli(0)
		kafkatest.Produce(t, cl, recs...)
		in = append(in, recs...)
	}
	for i, codec := range codecs {
		group := cfg
		group.Compression, group.Group = codec, fmt.Sprint(cfg.Group, codec)
		m := startMember(t, group, &router{})
		out := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast((i+1)*len(in)))
		m.stop(t)
		copies := kafkatest.BySource(out)
		for _, want := range in {
			got := copies[article.Coordinates{
				Topic: want.Topic, Partition: want.Partition,
				Offset: want.Offset,
			}.String()]
			require.Len(t, got, i+1, "published with %s", codec)
			last := got[len(got)-1]
			require.Equal(t, want.Key, last.Key)
			require.Equal(t, want.Value, last.Value)
			require.Equal(t, want.Timestamp.UnixMilli(), last.Timestamp.UnixMilli())
			require.True(t, slices.EqualFunc(want.Headers, last.Headers[:len(last.Headers)-1],
				func(a, b kgo.RecordHeader) bool {
					return a.Key == b.Key && string(a.Value) == string(b.Value) && (a.Value == nil) == (b.Value == nil)
				}))
		}
	}
}

func realRestart(t *testing.T, s *kafkaserver.Server, cfg broker.Config) {
	cfg.Partitions = 6
	// The member cannot leave the group while the broker is away. It must do so afterwards: waiting for its
	// former session would take longer than the test.
	cfg.SessionTimeout, cfg.DrainTimeout = 2*kafkatest.Patience, 2*time.Second
	kafkatest.EnsureTopics(t, cfg)
	stop := kafkatest.Feed(t, cfg, 40*time.Millisecond)
	m := startMember(t, cfg, &router{})
	require.Eventually(t, func() bool { return m.value(t, "echosieve_consumer_acknowledged_records_total") > 0 },
		kafkatest.Patience, 20*time.Millisecond, "records are being published")
	s.Kill()
	require.Eventually(t, func() bool { return m.health.last() != nil }, kafkatest.Patience, 20*time.Millisecond,
		"the loss is reported")
	require.Error(t, m.Ping(context.Background()))
	up := m.health.reportsUp()
	t.Logf("while the broker is away: %v", m.health.last())
	require.Eventually(t,
		func() bool {
			return testutil.ToFloat64(m.metrics.Errors.WithLabelValues(broker.OpJoin, "connection")) > 0
		},
		kafkatest.Patience, 20*time.Millisecond,
		"the group generation has ended, and the member tries to join again")
	require.Equal(t, up, m.health.reportsUp(), "nothing works again before the broker is back")
	back := time.Now()
	s.Restart()
	n := stop()
	all := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics),
		func(all []*kgo.Record) bool { return len(kafkatest.BySource(all)) == n })
	kafkatest.EventuallyCommitted(t, cfg)
	require.Eventually(t, func() bool { return m.health.last() == nil }, kafkatest.Patience, 20*time.Millisecond,
		"healthy again")
	t.Logf("healthy again %s after the broker's start began", time.Since(back).Round(time.Second))
	require.NoError(t, m.Ping(context.Background()))
	m.stop(t)
	t.Logf("%d of %d records delivered again", len(all)-n, n)
}
