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
	"echosieve/internal/base/diag"
	"echosieve/pipeline/article"
	"echosieve/test/kafkaserver"
	"echosieve/test/tier"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// onVersions runs a test on a broker of each version. The one before the present runs only with make test-all.
func onVersions(t *testing.T, start func(t testing.TB, version string) *kafkaserver.Server,
	run func(t *testing.T, s *kafkaserver.Server)) {
	t.Run(kafkaserver.V4, func(t *testing.T) { run(t, start(t, kafkaserver.V4)) })
	t.Run(kafkaserver.V3, func(t *testing.T) {
		tier.All(t)
		run(t, start(t, kafkaserver.V3))
	})
}

// sharedOr is the shared broker if it has the version, else a broker of its own.
func sharedOr(t testing.TB, version string) *kafkaserver.Server {
	if version == kafkaserver.V4 {
		return kafkaserver.Shared(t)
	}
	return kafkaserver.Start(t, version)
}

// TestRealKafka runs the tests that an in-process broker cannot answer.
func TestRealKafka(t *testing.T) {
	t.Parallel()
	onVersions(t, sharedOr, func(t *testing.T, s *kafkaserver.Server) {
		for name, test := range map[string]func(*testing.T, broker.Config){
			"transactions": realTransactions, "archive": realArchive, "codecs": realCodecs, "compacted": realCompacted,
			"deleted": realDeleted, "recreated": realRecreated, "stale commit": realStaleCommit,
			"offset deltas":    realOffsetDeltas,
			"timestamp limits": realTimestampLimits, "lowered limit": realLoweredLimit,
			"compacted output": realCompactedOutput,
			"small limit":      realSmallLimit, "take-over": realTakeOver, "foreign outputs": realForeign,
			"positions":       realPositions,
			"changed outputs": realChangedOutputs,
			"more partitions": realMorePartitions, "deleted markers": realDeletedMarkers,
			"lost verdicts": realLostVerdicts,
			"late commit":   realLateCommit, "mixed delivery": realMixedDelivery,
			"recreated output": realRecreatedOutput, "check": realCheck,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				test(t, realConfig(s, strings.ReplaceAll(name, " ", "-")))
			})
		}
	})
}

// TestBrokerGoesAndComesBack kills and restarts a broker under a member, and under an owner that was fenced before.
func TestBrokerGoesAndComesBack(t *testing.T) {
	t.Parallel()
	start := func(t testing.TB, version string) *kafkaserver.Server {
		return kafkaserver.Start(t, version, kafkaserver.With("producer.id.expiration.check.interval.ms", "500"))
	}
	onVersions(t, start, func(t *testing.T, s *kafkaserver.Server) {
		oldArticlesKeepTheFence(t, realConfig(s, "old"))
		refused := fenced(t, realConfig(s, "fence"))
		realRestart(t, s, realConfig(s, "restart"))
		refused("after the broker was killed")
		s.Restart()
		refused("after a restart")
	})
}

// realConfig uses topics and a group of the name.
func realConfig(s *kafkaserver.Server, name string) broker.Config {
	cfg := testConfig(strings.Split(s.Addr, ",")...)
	name = fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	cfg.Topics = broker.Topics{Input: name, Unique: name + "-unique", Duplicate: name + "-duplicate", Dead: name + "-dead"}
	cfg.Group = name
	return cfg
}

func outTopics(t broker.Topics) []string { return []string{t.Unique, t.Duplicate, t.Dead} }

// ends returns the sum of the end offsets of the input topic.
func ends(t *testing.T, cfg broker.Config) int64 {
	t.Helper()
	c, err := broker.New(cfg, cfg.Topics.All()...)
	require.NoError(t, err)
	defer c.Close()
	var n int64
	for p := range int32(cfg.Partitions) {
		_, last, err := c.Offsets(context.Background(), cfg.Topics.Input, p)
		require.NoError(t, err)
		n += last
	}
	return n
}

// eventuallyCommitted waits until all offsets of the input topic are committed, offsets of transaction markers too.
func eventuallyCommitted(t *testing.T, cfg broker.Config) {
	t.Helper()
	cl := client(t, cfg)
	want := ends(t, cfg)
	require.Eventually(t, func() bool {
		n, err := askCommitted(cl, cfg)
		return err == nil && n == want
	}, patience, 100*time.Millisecond, "committed offsets reach the end of the log")
}

func realTransactions(t *testing.T, cfg broker.Config) {
	ensureTopics(t, cfg)
	cl := client(t, cfg, kgo.TransactionalID(cfg.Group), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	plain := client(t, cfg)
	ctx := context.Background()
	want := map[string]bool{}
	for i := range 20 {
		require.NoError(t, cl.BeginTransaction())
		commit := i%3 != 1
		for _, r := range numbered(cfg.Topics.Input, fmt.Sprintf("u%d-%v-", i, commit), 30, 3) {
			produce(t, cl, r)
			if commit {
				want[string(r.Value)] = true
			}
		}
		for _, r := range numbered(cfg.Topics.Input, fmt.Sprintf("uplain%d-", i), 6, 3) {
			produce(t, plain, r)
			want[string(r.Value)] = true
		}
		require.NoError(t, cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)))
	}
	m := startMember(t, cfg, &router{})
	out := consumeUntil(t, cfg, outTopics(cfg.Topics), atLeast(len(want)))
	eventuallyCommitted(t, cfg)
	m.stop(t)
	require.Len(t, out, len(want))
	for _, r := range out {
		require.True(t, want[string(r.Value)], "%s was taken back", r.Value)
	}
	require.EqualValues(t, 7*30, m.value(t, "echosieve_consumer_skipped_records_total")-20*3,
		"aborted records; a marker in each partition for each transaction")
}

func realCodecs(t *testing.T, cfg broker.Config) {
	ensureTopics(t, cfg)
	var in []*kgo.Record
	for i, codec := range compressions {
		cl := client(t, cfg, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(10*time.Millisecond))
		recs := numbered(cfg.Topics.Input, fmt.Sprintf("%c%s %s", "udx"[i%3], codecs[i],
			strings.Repeat("words ", 100)), 300, 3)
		recs[0].Key, recs[1].Key = []byte{}, []byte("key")
		recs[2].Headers = []kgo.RecordHeader{{Key: "nil"}, {Key: "empty", Value: []byte{}},
			{Key: "", Value: []byte("v")}}
		recs[3].Timestamp = time.UnixMilli(0)
		produce(t, cl, recs...)
		in = append(in, recs...)
	}
	for i, codec := range codecs {
		group := cfg
		group.Compression, group.Group = codec, fmt.Sprint(cfg.Group, codec)
		m := startMember(t, group, &router{})
		out := consumeUntil(t, cfg, outTopics(cfg.Topics), atLeast((i+1)*len(in)))
		m.stop(t)
		copies := bySource(out)
		for _, want := range in {
			got := copies[article.Coordinates{Topic: want.Topic, Partition: want.Partition,
				Offset: want.Offset}.String()]
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
	cfg.SessionTimeout, cfg.DrainTimeout = 2*patience, 2*time.Second
	ensureTopics(t, cfg)
	stop := feed(t, cfg, 40*time.Millisecond)
	m := startMember(t, cfg, &router{})
	require.Eventually(t, func() bool { return m.value(t, "echosieve_consumer_acknowledged_records_total") > 0 },
		patience, 20*time.Millisecond, "records are being published")
	s.Kill()
	require.Eventually(t, func() bool { return m.health.last() != nil }, patience, 20*time.Millisecond,
		"the loss is reported")
	require.Error(t, m.Ping(context.Background()))
	up := m.health.reportsUp()
	t.Logf("while the broker is away: %v", m.health.last())
	require.Eventually(t,
		func() bool {
			return testutil.ToFloat64(m.metrics.Errors.WithLabelValues(broker.OpJoin, "connection")) > 0
		},
		patience, 20*time.Millisecond,
		"the group generation has ended, and the member tries to join again")
	require.Equal(t, up, m.health.reportsUp(), "nothing works again before the broker is back")
	back := time.Now()
	s.Restart()
	n := stop()
	all := consumeUntil(t, cfg, outTopics(cfg.Topics), func(all []*kgo.Record) bool { return len(bySource(all)) == n })
	eventuallyCommitted(t, cfg)
	require.Eventually(t, func() bool { return m.health.last() == nil }, patience, 20*time.Millisecond, "healthy again")
	t.Logf("healthy again %s after the broker's start began", time.Since(back).Round(time.Second))
	require.NoError(t, m.Ping(context.Background()))
	m.stop(t)
	t.Logf("%d of %d records delivered again", len(all)-n, n)
}

func realCheck(t *testing.T, cfg broker.Config) {
	cfg.CreateTopics = false
	ctx := context.Background()
	for _, f := range Check(ctx, cfg)[1:5] {
		require.Equal(t, diag.Failure, f.Severity, "%+v", f)
		require.Contains(t, f.Remedy, "kafka.create_topics: true")
	}
	ensureTopics(t, cfg)
	for _, f := range Check(ctx, cfg) {
		require.Equal(t, diag.OK, f.Severity, "%+v", f)
	}
	hour, far := "3600000", "9223372036854775807"
	admin := kadm.NewClient(client(t, cfg))
	for _, step := range []struct {
		setting       string
		input, output *string
		limited       int
	}{{broker.FutureLimit, &far, &hour, 3}, {broker.FutureLimit, &far, &far, 0}, {broker.PastLimit, &hour, &hour, 3},
		{broker.PastLimit, &hour, &far, 0}} {
		for _, topic := range cfg.Topics.All() {
			limit := step.output
			if topic == cfg.Topics.Input {
				limit = step.input
			}
			_, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: step.setting, Value: limit}}, topic)
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { // the broker applies settings a moment later
			limited := 0
			for _, f := range Check(ctx, cfg) {
				if f.Severity == diag.Warning && strings.Contains(f.Problem, step.setting) &&
					strings.Contains(f.Problem, "becomes a dead letter") {
					limited++
				}
			}
			return limited == step.limited
		}, patience, 200*time.Millisecond)
	}
	cfg.MaxMessageBytes *= 2
	require.Contains(t, fmt.Sprint(Check(ctx, cfg)),
		"max.message.bytes is 1048576, below kafka.max_message_bytes 2097152")
	cfg.Brokers = []string{"127.0.0.1:1"}
	f := Check(ctx, cfg)
	require.Len(t, f, 1)
	require.Contains(t, f[0].Problem, "no broker answers")
}
