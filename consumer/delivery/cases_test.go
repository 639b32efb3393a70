package delivery

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// cases are the interleavings of the comment of takeover, and what a take-over can find.
var cases = []struct {
	name string
	run  func(*testing.T, broker.Config)
	real bool // an in-process broker does not behave so
}{
	{"take-over", oneAfterTheOther, false},
	{"late marker", lateMarker, true},
	{"foreign outputs", foreignOutputs, false},
	{"foreign epoch", foreignEpoch, true},
	{"positions", commitsThatDoNotSay, false},
	{"changed outputs", changedOutputs, false},
	{"more partitions", morePartitions, false},
	{"deleted markers", deletedMarkers, false},
	{"refusals", refusals, true},
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		if !c.real {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				_, cfg := kafkatest.Fake(t)
				c.run(t, cfg)
			})
		}
	}
}

func TestRealKafka(t *testing.T) {
	t.Parallel()
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, kafkatest.RealConfig(s, strings.ReplaceAll(c.name, " ", "-")))
			})
		}
	})
}

// startOwner makes this process the owner of partition 0, as a process with this configuration would.
func startOwner(t *testing.T, cfg broker.Config) (*Delivery, *Owner) {
	t.Helper()
	c := kafkatest.Cluster(t, cfg)
	m := broker.NewMetrics(nil)
	log := kafkatest.Log(t)
	r := broker.NewReporter(m, log, func(string, fmt.Stringer, error) {})
	d := New(c, broker.NewLimiter(cfg.MaxInFlightRecords, cfg.MaxInFlightBytes, m), m, r, log)
	_, err := d.Prepare(t.Context())
	require.NoError(t, err)
	nobody := &kafka.Generation{GroupID: cfg.Group, ID: -1}
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Patience)
	defer cancel()
	owner, err := d.Own(ctx, Input{
		TopicPartition: wire.TopicPartition{Topic: cfg.Topics.Inputs[0]}, Committed: -1,
		Store: func(ctx context.Context, b ...broker.Commit) error {
			return c.Group(cfg.Group).Commit(ctx, nobody, nil, b...)
		},
	})
	require.NoError(t, err)
	return d, owner
}

// TestForgetfulBrokers: brokers forget silent producers and transactional ids after seconds.
func TestForgetfulBrokers(t *testing.T) {
	t.Parallel() // it mostly waits
	const memory = 6 * time.Second
	start := func(t testing.TB, version string) *kafkaserver.Server {
		ms, often := "6000", "500"
		return kafkaserver.Start(t, version, kafkaserver.With("producer.id.expiration.ms", ms),
			kafkaserver.With("transactional.id.expiration.ms", ms),
			kafkaserver.With("producer.id.expiration.check.interval.ms", often),
			kafkaserver.With("transaction.remove.expired.transaction.cleanup.interval.ms", often))
	}
	kafkatest.OnVersions(t, start, func(t *testing.T, s *kafkaserver.Server) {
		cfg := kafkatest.RealConfig(s, "forget")
		cfg.Partitions = 1
		kafkatest.EnsureTopics(t, cfg)
		unique := wire.TopicPartition{Topic: cfg.Topics.Unique}
		zombie := testTakeOver(t, cfg)
		first := takeOver(t, zombie)
		require.NoError(t, publishAs(zombie, first.as, 0, unique.Topic, 0))

		d, owner := startOwner(t, cfg)
		require.Equal(t, memory, d.fenceMemory)
		for idle := time.Now(); time.Since(idle) < 3*memory; time.Sleep(memory / 10) {
			_, err := owner.Upkeep(t.Context())
			require.NoError(t, err)
			require.ErrorIs(t, publishTo(zombie, first.as, 1, unique, 1), kafka.InvalidProducerEpoch,
				"the owner keeps its fence")
		}
		_, err := owner.Publish(t.Context(), []*pipeline.Output{kafkatest.Output(cfg, 1, time.Now())})
		require.NoError(t, err, "it has never lost its standing")

		// Nobody keeps the id now. Whoever comes after the brokers have forgotten it has another producer id,
		// and counts as unfenced.
		require.Eventually(t, func() bool { return forgotten(t, cfg) }, kafkatest.Patience, time.Second)
		next := takeOver(t, testTakeOver(t, cfg))
		require.NotEqual(t, owner.own.as.ID, next.as.ID)
		require.False(t, next.fenced)
	})
}

// oldArticlesKeepTheFence: brokers forget a producer whose latest batch has old timestamps, and the owner makes them
// remember it.
func oldArticlesKeepTheFence(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	unique := wire.TopicPartition{Topic: cfg.Topics.Unique}
	zombie := testTakeOver(t, cfg)
	first := takeOver(t, zombie)
	_, owner := startOwner(t, cfg)
	require.False(t, owner.fades())
	_, err := owner.Publish(t.Context(), []*pipeline.Output{kafkatest.Output(cfg, 0, time.Now().Add(-48*time.Hour))})
	require.NoError(t, err)
	require.True(t, owner.fades())
	_, published, err := zombie.cluster.Partition(unique.Topic, 0).Offsets(t.Context())
	require.NoError(t, err)
	_, err = owner.Upkeep(t.Context())
	require.NoError(t, err)
	require.False(t, owner.fades())
	require.Eventually(t, func() bool {
		_, end, err := zombie.cluster.Partition(unique.Topic, 0).Offsets(context.Background())
		return err == nil && end > published
	}, kafkatest.Patience, 10*time.Millisecond, "a marker follows the article")
	require.ErrorIs(t, publishTo(zombie, first.as, 0, unique, 9), kafka.InvalidProducerEpoch)
}

// refusals: a topic takes less than its settings said when they were read: records ahead of the clock, and, once
// it is compacted, records without a key. What it refuses is returned, in order, and its settings are read again.
func refusals(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	d, owner := startOwner(t, cfg)
	known := d.Limits()[article.ToUnique]
	hour := fmt.Sprint(time.Hour.Milliseconds())
	kafkatest.SetLimit(t, cfg, broker.FutureLimit, hour, cfg.Topics.Unique)
	ahead, now := time.Now().Add(9*time.Hour), time.Now()
	var refused []Refused
	offset := int64(0)
	publish := func() {
		outputs := []*pipeline.Output{kafkatest.Output(cfg, offset, ahead), kafkatest.Output(cfg, offset+1, now),
			kafkatest.Output(cfg, offset+2, ahead)}
		var err error
		refused, err = owner.Publish(t.Context(), outputs)
		require.NoError(t, err)
		offset += 3
	}
	require.Eventually(t, func() bool { // the leader applies the limit a moment after it shows it
		publish()
		return len(refused) == 2
	}, kafkatest.Patience, 50*time.Millisecond)
	for i, r := range refused {
		require.Equal(t, record.Timestamp, r.Why.Reason)
		require.Equal(t, offset-3+int64(2*i), r.Output.Record.Offset)
	}
	require.Equal(t, known, d.Limits()[article.ToUnique])
	d.interval = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go d.KeepLimits(ctx)
	require.Eventually(t, func() bool { return d.Limits()[article.ToUnique].MaxAhead == time.Hour },
		kafkatest.Patience, 50*time.Millisecond, "the limit is read again")
	kafkatest.SetLimit(t, cfg, "cleanup.policy", "compact", cfg.Topics.Unique)
	require.Eventually(t, func() bool {
		var err error
		refused, err = owner.Publish(t.Context(), []*pipeline.Output{kafkatest.Output(cfg, offset, now)})
		require.NoError(t, err)
		offset++
		return len(refused) == 1 && refused[0].Why.Reason == record.Refused
	}, kafkatest.Patience, 50*time.Millisecond)
	require.Eventually(t, func() bool { return d.Limits()[article.ToUnique].NeedsKey },
		kafkatest.Patience, 50*time.Millisecond)
}

// TestBrokerGoesAndComesBack kills and restarts a broker under owners: the fence outlives it.
func TestBrokerGoesAndComesBack(t *testing.T) {
	t.Parallel()
	start := func(t testing.TB, version string) *kafkaserver.Server {
		return kafkaserver.Start(t, version, kafkaserver.Killable(),
			kafkaserver.With("producer.id.expiration.check.interval.ms", "500"))
	}
	kafkatest.OnVersions(t, start, func(t *testing.T, s *kafkaserver.Server) {
		oldArticlesKeepTheFence(t, kafkatest.RealConfig(s, "old"))
		refused := fenced(t, kafkatest.RealConfig(s, "fence"))
		s.Kill()
		s.Restart()
		refused("after the broker was killed")
		s.Stop()
		s.Restart()
		refused("after a restart")
	})
}
