package consumer

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// TestRealKafka runs the tests that an in-process broker cannot answer.
func TestRealKafka(t *testing.T) {
	t.Parallel()
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		for name, test := range map[string]func(*testing.T, broker.Config){
			"recreated": realRecreated, "stale commit": realStaleCommit, "lost verdicts": realLostVerdicts,
			"late commit": realLateCommit, "recreated output": realRecreatedOutput,
			"two topics": realTwoTopics,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				test(t, kafkatest.RealConfig(s, strings.ReplaceAll(name, " ", "-")))
			})
		}
	})
}

// produceToNew produces to a topic that was created a moment ago. It waits until brokers know the topic.
func produceToNew(t *testing.T, cfg broker.Config, recs ...*kgo.Record) {
	t.Helper()
	kafkatest.Produce(t, kafkatest.Client(t, cfg, kgo.UnknownTopicRetries(-1)), recs...)
}

// inUnique waits until every record is in the unique topic.
func inUnique(t *testing.T, cfg broker.Config, want []*kgo.Record) []*kgo.Record {
	t.Helper()
	return kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, func(all []*kgo.Record) bool {
		seen := map[string]bool{}
		for _, r := range all {
			seen[string(r.Value)] = true
		}
		for _, r := range want {
			if !seen[string(r.Value)] {
				return false
			}
		}
		return true
	})
}

// startOnThirty starts a member, and waits until it has decided the thirty records of the input topic.
func startOnThirty(t *testing.T, cfg broker.Config) *member {
	t.Helper()
	kafkatest.EnsureTopics(t, cfg)
	before := kafkatest.Numbered(cfg.Topics.Inputs[0], "before", 30, 3)
	kafkatest.Produce(t, kafkatest.Client(t, cfg), before...)
	m := startMember(t, cfg, &router{})
	inUnique(t, cfg, before)
	return m
}

func deleteInput(t *testing.T, cfg broker.Config) {
	t.Helper()
	_, err := kadm.NewClient(kafkatest.Client(t, cfg)).DeleteTopic(context.Background(), cfg.Topics.Inputs[0])
	require.NoError(t, err)
}

// inputID returns the id by which the broker knows the input topic, zero while it knows none.
func inputID(t *testing.T, cfg broker.Config) kadm.TopicID {
	t.Helper()
	topics, err := kadm.NewClient(kafkatest.Client(t, cfg)).ListTopics(context.Background(), cfg.Topics.Inputs[0])
	require.NoError(t, err)
	return topics[cfg.Topics.Inputs[0]].ID
}

// recreateInput returns when the broker has the new topic. The broker knows the old topic for a moment after
// the controller has deleted it. In that moment EnsureTopics finds nothing missing, and records can still go
// to the old log.
func recreateInput(t *testing.T, cfg broker.Config) {
	t.Helper()
	before := inputID(t, cfg)
	deleteInput(t, cfg)
	_, err := kadm.NewClient(kafkatest.Client(t, cfg)).CreateTopic(context.Background(), int32(cfg.Partitions),
		int16(cfg.Replication), nil, cfg.Topics.Inputs[0])
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		id := inputID(t, cfg)
		return id != before && id != kadm.TopicID{}
	}, kafkatest.Patience, 10*time.Millisecond, "the broker has the new topic")
}

// realRecreated recreates the topic quickly and fills it, so that the old positions are inside the new log.
func realRecreated(t *testing.T, cfg broker.Config) {
	m := startOnThirty(t, cfg)
	kafkatest.EventuallyCommitted(t, cfg)
	recreateInput(t, cfg)
	after := kafkatest.Numbered(cfg.Topics.Inputs[0], "after", 3000, 3)
	produceToNew(t, cfg, after...)
	inUnique(t, cfg, after)
	kafkatest.EventuallyCommitted(t, cfg)
	require.Positive(t, m.value(t, "echosieve_consumer_offset_resets_total"), "the reset is counted")
	m.stop(t)
}

// realStaleCommit: a member commits once more before it notices that the topic was recreated, and is killed.
// So the group has offsets of the old topic that are inside the new log.
func realStaleCommit(t *testing.T, cfg broker.Config) {
	m := startOnThirty(t, cfg)
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	cl := kafkatest.Client(t, cfg)
	group := kadm.NewClient(cl)
	left, err := group.FetchOffsets(t.Context(), cfg.Group)
	require.NoError(t, err)
	recreateInput(t, cfg)
	require.Eventually(t, func() bool {
		n, err := kafkatest.AskCommitted(cl, cfg)
		return err == nil && n == 0
	}, kafkatest.Patience, 50*time.Millisecond, "the broker drops the offsets with the topic")
	require.NoError(t, group.CommitAllOffsets(t.Context(), cfg.Group, left.Offsets()))
	require.Equal(t, int64(30), kafkatest.Committed(t, cl, cfg))

	after := kafkatest.Numbered(cfg.Topics.Inputs[0], "after", 300, 3)
	produceToNew(t, cfg, after...)
	m = startMember(t, cfg, &router{})
	inUnique(t, cfg, after)
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	require.Equal(t, 3.0, m.value(t, "echosieve_consumer_offset_resets_total"))

	again := func(value string, fetched float64) {
		last := &kgo.Record{Topic: cfg.Topics.Inputs[0], Value: []byte(value)}
		kafkatest.Produce(t, cl, last)
		m = startMember(t, cfg, &router{})
		inUnique(t, cfg, []*kgo.Record{last})
		kafkatest.EventuallyCommitted(t, cfg)
		m.stop(t)
		require.Zero(t, m.value(t, "echosieve_consumer_offset_resets_total"))
		require.Equal(t, fetched, m.value(t, "echosieve_consumer_fetched_records_total"))
	}
	again("what the group has committed is its own now", 1)
	set := kadm.Offsets{}
	for p := range int32(3) {
		set.AddOffset(cfg.Topics.Inputs[0], p, 90, -1)
	}
	require.NoError(t, group.CommitAllOffsets(t.Context(), cfg.Group, set))
	again("what a tool sets is taken as it is", 30+2)
}

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
	require.Error(t, m.group.Commit(t.Context(), gen, nil, commits...),
		"the group has another member")
	m.stop(t)
	late := kafkatest.Cluster(t, cfg)
	require.Error(t, late.Group(cfg.Group).Commit(t.Context(), gen, nil, commits...), "the group is empty")
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
	commits, err := c.Group(cfg.Group).Committed(t.Context(), cfg.Topics.Inputs[0], []int{0})
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
		Store: func(ctx context.Context, commit ...broker.Commit) error {
			return c.Group(cfg.Group).Commit(ctx, nobody, nil, commit...)
		},
	})
	require.NoError(t, err)
	return c, owner
}

// A commit names the positions of the moment at which its offset became committable, however much later it is sent.
func TestPositionsBelongToTheirOffset(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	_, owner := formerOwner(t, cfg)
	p := &servedPartition{progress: &progress{owner: owner}}
	g := &groupGeneration{partitions: map[wire.TopicPartition]*servedPartition{{}: p}}
	p.setCommittable(5)
	then := *p.committable.Load()
	require.NotEmpty(t, then.Positions)
	_, err := owner.Publish(t.Context(), []*pipeline.Output{kafkatest.Output(cfg, 5, time.Now())}) // later
	require.NoError(t, err)
	_, commits := g.moved()
	require.Equal(t, []broker.Commit{then}, commits)
	p.setCommittable(6)
	_, commits = g.moved()
	require.NotEqual(t, then.Positions, commits[0].Positions)
}
