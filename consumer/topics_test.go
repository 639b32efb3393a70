package consumer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// inBoth produces n records to each input topic, at the same offsets.
func inBoth(t *testing.T, cfg broker.Config, prefix string, n int) {
	t.Helper()
	for _, topic := range cfg.Topics.Inputs {
		kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(topic, prefix, n, cfg.Partitions)...)
	}
}

// publishedOnce waits until n records of each topic are published, and checks that none is twice, or out of order.
func publishedOnce(t *testing.T, cfg broker.Config, n map[string]int) {
	t.Helper()
	total := 0
	for _, k := range n {
		total += k
	}
	all := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast(total))
	require.Len(t, all, total)
	last, found := map[string]int64{}, map[string]int{}
	for _, r := range all {
		from, err := article.ParseCoordinates(kafkatest.Header(r, pipeline.HeaderInput))
		require.NoError(t, err)
		require.Equal(t, from.Partition%int32(cfg.Partitions), r.Partition)
		require.Equal(t, r.Value[0] == 'd', r.Topic == cfg.Topics.Duplicate, "in the topic of its verdict")
		lane := fmt.Sprint(r.Topic, from.Topic, from.Partition)
		before, seen := last[lane]
		require.False(t, seen && before >= from.Offset, "order in %s", lane)
		last[lane] = from.Offset
		found[from.Topic]++
	}
	require.Equal(t, n, found)
}

// A topic that is taken away or added by a restart loses nothing, and repeats nothing.
func TestSeveralTopics(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Topics.Inputs = []string{"articles", "wire"}
	kafkatest.EnsureTopics(t, cfg)
	inBoth(t, cfg, "u", 30)
	run := func(cfg broker.Config, n map[string]int, topics ...string) {
		t.Helper()
		m := startMember(t, cfg, &router{})
		publishedOnce(t, cfg, n)
		require.EqualValues(t, len(topics)*cfg.Partitions, m.value(t, "echosieve_consumer_assigned_partitions"))
		require.Eventually(t, func() bool {
			shown := map[string]bool{}
			families, _ := m.reg.Gather()
			for _, f := range families {
				for _, metric := range f.GetMetric() {
					if f.GetName() == "echosieve_consumer_lag_records" {
						shown[metric.GetLabel()[1].GetValue()] = true
					}
				}
			}
			return len(shown) == len(topics)
		}, kafkatest.Patience, time.Millisecond, "lag by topic")
		m.stop(t)
		require.NoError(t, m.health.last())
	}
	run(cfg, map[string]int{"articles": 30, "wire": 30}, cfg.Topics.Inputs...)
	without := cfg
	without.Topics.Inputs = []string{"articles"}
	inBoth(t, cfg, "d", 30)
	run(without, map[string]int{"articles": 60, "wire": 30}, without.Topics.Inputs...)
	run(cfg, map[string]int{"articles": 60, "wire": 60}, cfg.Topics.Inputs...)
}

// The records of one topic pass while a backlog in another waits.
func TestBacklogOfOneTopicLeavesRoomForTheOther(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Topics.Inputs = []string{"articles", "wire"}
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg)
	kafkatest.Produce(t, cl, kafkatest.Numbered("articles", "s", 20_000, cfg.Partitions)...)
	waits, passed := make(chan bool, 1000), make(chan struct{})
	m := startMember(t, cfg, &router{decide: func(ctx context.Context, recs []record.Record) error {
		if recs[0].Topic == "wire" {
			return nil
		}
		waits <- true
		return opened(ctx, passed)
	}})
	for range cfg.Partitions {
		<-waits
	}
	kafkatest.Produce(t, cl, kafkatest.Numbered("wire", "u", 3, cfg.Partitions)...)
	kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics), kafkatest.AtLeast(3))
	close(passed)
	m.stop(t)
}

// realTwoTopics: an owner has published records of one topic and dies before it commits. The same offsets of the other
// topic are not taken for published, although their outputs go to the same partitions.
func realTwoTopics(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 1
	cfg.Topics.Inputs = append(cfg.Topics.Inputs, cfg.Topics.First()+"-wire")
	kafkatest.EnsureTopics(t, cfg)
	inBoth(t, cfg, "u", 20)
	_, owner := formerOwner(t, cfg) // of the first topic
	var published []*pipeline.Output
	for offset := range int64(7) {
		published = append(published, kafkatest.Output(cfg, offset, time.Now()))
	}
	_, err := owner.Publish(t.Context(), published)
	require.NoError(t, err)
	n := map[string]int{cfg.Topics.Inputs[0]: 20, cfg.Topics.Inputs[1]: 20}
	m := startMember(t, cfg, &router{})
	publishedOnce(t, cfg, n)
	require.Equal(t, 7.0, m.value(t, alreadyAcknowledged))
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	m = startMember(t, cfg, &router{})
	serves(t, m)
	kafkatest.Produce(t, kafkatest.Client(t, cfg), &kgo.Record{Topic: cfg.Topics.Inputs[1], Value: []byte("u-last")})
	n[cfg.Topics.Inputs[1]]++
	publishedOnce(t, cfg, n)
	m.stop(t)
	require.Equal(t, 1.0, m.value(t, "echosieve_consumer_fetched_records_total"))
}

// While a restart changes the topics, members read different ones.
func TestBalancer(t *testing.T) {
	var partitions []kafka.Partition
	for _, topic := range []string{"a", "b", "c"} {
		for id := range 2 {
			partitions = append(partitions, kafka.Partition{Topic: topic, ID: id})
		}
	}
	var n atomic.Int64
	b := balancer{topics: []string{"a", "b"}, assigned: &n}
	given := b.AssignGroups([]kafka.GroupMember{
		{ID: "2", Topics: b.topics}, {ID: "1", Topics: []string{"a", "b", "c"}}, {ID: "3", Topics: b.topics},
	}, partitions)
	require.EqualValues(t, 4, n.Load(), "partitions of the leader's topics")
	require.Equal(t, []int{0, 1}, given["1"]["c"], "nobody else reads it")
	var all []string
	for member, topics := range given {
		held := 0
		for topic, ids := range topics {
			held += len(ids)
			for _, id := range ids {
				all = append(all, fmt.Sprint(topic, id))
			}
		}
		require.GreaterOrEqual(t, held, 1, member)
	}
	slices.Sort(all)
	require.Equal(t, "a0 a1 b0 b1 c0 c1", strings.Join(all, " "))
}
