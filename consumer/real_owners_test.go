package consumer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/test/kafkatest"
)

// realLostVerdicts: an owner has published records and dies before it commits. Redis has lost their verdicts,
// and the next owner decides them differently.
func realLostVerdicts(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	kafkatest.Filled(t, cfg, "d", 20)
	_, owner := formerOwner(t, cfg)
	var published []*pipeline.Output
	for _, offset := range []int64{0, 1, 2, 3, 4, 6} {
		published = append(published, kafkatest.Output(cfg, offset, time.Now()))
	}
	refusals, err := owner.Publish(t.Context(), published)
	require.NoError(t, err)
	require.Empty(t, refusals)

	m := startMember(t, cfg, &router{}) // its verdict is duplicate
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	require.Equal(t, 6.0, m.value(t, alreadyAcknowledged))
	require.Equal(t, 14.0, m.value(t, "echosieve_consumer_acknowledged_records_total"))
	out := kafkatest.BySource(kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast(20)))
	require.Len(t, out, 20)
	for source, records := range out {
		require.Len(t, records, 1, source)
	}
}

// realLateCommit: a member commits after it has lost its partitions.
func realLateCommit(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	m := startMember(t, cfg, &router{})
	serves(t, m)
	kafkatest.EventuallyCommitted(t, cfg)
	gen := &kafka.Generation{GroupID: cfg.Group, ID: 1, MemberID: "somebody"}
	commits := []broker.Commit{{Next: 7}}
	commits[0].Topic = cfg.Topics.Inputs[0]
	require.Error(t, m.cluster.Commit(t.Context(), gen, nil, commits...),
		"the group has another member")
	m.stop(t)
	late := kafkatest.Cluster(t, cfg)
	require.Error(t, late.Commit(t.Context(), gen, nil, commits...), "the group is empty")
	require.Zero(t, kafkatest.Committed(t, kafkatest.Client(t, cfg), cfg))
}

// realRecreatedOutput recreates an output topic while a member runs.
func realRecreatedOutput(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	admin := kadm.NewClient(kafkatest.Client(t, cfg))
	send := func(n int) {
		t.Helper()
		kafkatest.Produce(t, kafkatest.Client(t, cfg),
			kafkatest.Numbered(cfg.Topics.Inputs[0], fmt.Sprint("u", n, "-"), 10, 1)...)
	}
	send(1)
	m := startMember(t, cfg, &router{})
	kafkatest.EventuallyCommitted(t, cfg)
	before := m.value(t, "echosieve_consumer_takeovers_total")
	_, err := admin.DeleteTopic(t.Context(), cfg.Topics.Unique)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := admin.CreateTopic(context.Background(), 1, 1, nil, cfg.Topics.Unique)
		return err == nil
	}, kafkatest.Patience, 50*time.Millisecond)
	require.Eventually(t, func() bool { return m.value(t, "echosieve_consumer_takeovers_total") > before },
		kafkatest.Patience, 50*time.Millisecond, "an idle member takes over again, too")
	send(2)
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(10))
	require.Len(t, out, 10)
	sources := kafkatest.BySource(out)
	require.Len(t, sources, 10)

	// Whoever comes next finds the positions of the present topic.
	now, err := m.cluster.Topic(t.Context(), cfg.Topics.Unique)
	require.NoError(t, err)
	require.Contains(t, lastCommit(t, cfg).Positions, broker.Position{
		TopicPartition: wire.TopicPartition{Topic: now.Name}, TopicID: now.ID, Offset: 11,
	}, "a marker and ten records")
}

// lastCommit returns what the group has committed for partition 0.
func lastCommit(t *testing.T, cfg broker.Config) broker.Commit {
	t.Helper()
	c, err := broker.New(cfg, cfg.Topics.Inputs[0])
	require.NoError(t, err)
	defer c.Close()
	commits, err := c.Committed(t.Context(), cfg.Group, cfg.Topics.Inputs[0], []int{0})
	require.NoError(t, err)
	return commits[0]
}

// formerOwner makes an owner of partition 0 that is in no group and commits nothing but its first position.
func formerOwner(t *testing.T, cfg broker.Config) (*broker.Cluster, *delivery.Owner) {
	t.Helper()
	c := kafkatest.Cluster(t, cfg)
	m := broker.NewMetrics(nil)
	r := broker.NewReporter(m, kafkatest.Log(t), (&health{}).report)
	d := delivery.New(c, broker.NewLimiter(cfg.MaxInFlightRecords, cfg.MaxInFlightBytes, m), m, r, kafkatest.Log(t))
	_, err := d.Prepare(t.Context())
	require.NoError(t, err)
	nobody := &kafka.Generation{GroupID: cfg.Group, ID: -1}
	owner, err := d.Own(t.Context(), delivery.Input{
		TopicPartition: wire.TopicPartition{Topic: cfg.Topics.Inputs[0]}, Committed: -1,
		Commit: func(ctx context.Context, commit broker.Commit) error {
			return c.Commit(ctx, nobody, nil, commit)
		},
	})
	require.NoError(t, err)
	return c, owner
}

// A commit names the positions of the moment at which its mark was set, however much later it is sent.
func TestPositionsBelongToTheirMark(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	_, owner := formerOwner(t, cfg)
	p := &partition{owner: owner}
	g := &groupGeneration{partitions: map[wire.TopicPartition]*partition{{}: p}}
	p.setMark(5)
	marked := *p.mark.Load()
	require.NotEmpty(t, marked.Positions)
	_, err := owner.Publish(t.Context(), []*pipeline.Output{kafkatest.Output(cfg, 5, time.Now())}) // after the mark
	require.NoError(t, err)
	_, commits := g.moved()
	require.Equal(t, []broker.Commit{marked}, commits)
	p.setMark(6)
	_, commits = g.moved()
	require.NotEqual(t, marked.Positions, commits[0].Positions)
}
