package consumer

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/broker"
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
