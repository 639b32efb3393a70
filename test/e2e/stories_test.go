package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/stories"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// Two processes read the output topics of a service into stories. One is killed, and Redis loses all. Each time the
// topic of stories must come to hold exactly the stories that follow from the outputs. Records that are not from
// Echosieve count for nothing.
func TestStories(t *testing.T) {
	_, records := written(t, 800)
	server := redisserver.Start(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, server.Addr)
	topic := c.topic + "-stories"
	settings := c.settings().With(service.Settings{
		"kafka.session_timeout": "2s", "kafka.commit_interval": "200ms",
	})
	start := func(args ...string) *service.Process { return storiesOf(t, c, settings, args...) }
	product := service.Start(t, settings)
	one, two := start(), start()
	inputs := publish(t, c, records[:400])
	// somebody else's record, and one with a publisher of 10 KB
	producer := kafkaserver.Client(t, c.kafka)
	foreigner := &kgo.Record{Topic: c.topic + "-duplicate", Value: []byte("{}")}
	require.NoError(t, producer.ProduceSync(t.Context(), foreigner).FirstErr())
	long := fmt.Appendf(nil, `{"id":"long","text":"A text about the long names of newspapers, twice.","source":"%s"}`,
		strings.Repeat("x", 10_000))
	maps.Copy(inputs, publish(t, c, []*kgo.Record{{Value: long}, {Value: long}}))
	watch(t, c, 402, func(int) {})
	require.Eventually(t, func() bool {
		got, err := ledger.LastStories(t.Context(), []string{c.kafka}, topic)
		return err == nil && len(got) > 20
	}, service.Patience, time.Second)
	two.Kill()
	maps.Copy(inputs, publish(t, c, records[400:]))
	two = start()
	outputs := watch(t, c, 802, func(int) {})
	stop(t, product)

	want := ledger.Stories(inputs, outputs, window)
	require.Greater(t, len(want), 50)
	requireStories(t, c, topic, want)
	foreign := one.Metric(t, `echosieve_stories_records_total{result="foreign"}`) +
		two.Metric(t, `echosieve_stories_records_total{result="foreign"}`)
	require.LessOrEqual(t, foreign, 2.0, "the killed process may have read it, and another one again")
	checkStoriesTopic(t, producer, topic)

	// What Redis has lost is built anew, and so is what somebody wants to be.
	generation := func() string { return generationOf(t, server.Addr, c.namespace) }
	before := generation()
	emptyTopic(t, producer, topic)
	require.NoError(t, redis.NewClient(&redis.Options{Addr: server.Addr}).FlushAll(t.Context()).Err())
	requireStories(t, c, topic, want)
	lost := generation()
	require.NotEqual(t, before, lost)
	stop(t, two)
	emptyTopic(t, producer, topic)
	two = start("--rebuild")
	requireStories(t, c, topic, want)
	require.NotEqual(t, lost, generation())
	stop(t, one)
	stop(t, two)
}

// requireStories waits until the topic holds the stories.
func requireStories(t *testing.T, c cluster, topic string, want map[string]stories.Record) {
	t.Helper()
	var bad []ledger.Violation
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		got, err := ledger.LastStories(t.Context(), []string{c.kafka}, topic)
		require.NoError(t, err)
		if bad = ledger.CompareStories(want, got); len(bad) == 0 {
			return
		}
	}
	require.Empty(t, bad)
}

// checkStoriesTopic checks the settings with which the topic was created.
func checkStoriesTopic(t *testing.T, kafka *kgo.Client, topic string) {
	t.Helper()
	admin := kadm.NewClient(kafka)
	settings, err := admin.DescribeTopicConfigs(t.Context(), topic)
	require.NoError(t, err)
	values := map[string]string{}
	for _, s := range settings[0].Configs {
		values[s.Key] = s.MaybeValue()
	}
	require.Equal(t, "compact,delete", values["cleanup.policy"])
	require.Equal(t, "1209600000", values["retention.ms"])
	topics, err := admin.ListTopics(t.Context(), topic)
	require.NoError(t, err)
	require.Len(t, topics[topic].Partitions, 1)
}

// emptyTopic deletes all records.
func emptyTopic(t *testing.T, kafka *kgo.Client, topic string) {
	t.Helper()
	admin := kadm.NewClient(kafka)
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	_, err = admin.DeleteRecords(t.Context(), ends.Offsets())
	require.NoError(t, err)
}

// generationOf returns the generation of the stories in Redis.
func generationOf(t *testing.T, addr, namespace string) string {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: addr})
	defer r.Close()
	for name := range strings.SplitSeq(strings.Join(r.Keys(t.Context(), namespace+":*:t").Val(), "\n"), "\n") {
		return r.Get(t.Context(), name).Val()
	}
	return ""
}
