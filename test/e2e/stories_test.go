package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/stories"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// Two processes read the output topics of a service into stories. One is killed, and Redis loses all. Each time the
// topic of stories must come to hold exactly the stories that follow from the outputs. Records that are not from
// Echosieve count for nothing.
func TestStories(t *testing.T) {
	records := fresh(articles(t)[:800])
	server := redisserver.Start(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, server.Addr)
	topic := c.topic + "-stories"
	settings := c.settings().With(service.Settings{
		"kafka.session_timeout": "2s", "kafka.drain_timeout": "1s", "kafka.commit_interval": "200ms",
	})
	start := func(args ...string) *service.Process {
		return service.Start(t, settings.With(service.Settings{"kafka.create_topics": "true"}), func(cmd *exec.Cmd) {
			cmd.Args = append([]string{cmd.Args[0], "stories", "--topic", topic}, args...)
		})
	}
	product := service.Start(t, settings)
	one, two := start(), start()
	inputs := publish(t, c, records[:400])
	// somebody else's record, and one with a publisher of 10 KB
	producer := client(t, kgo.SeedBrokers(c.kafka))
	require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{
		Topic: c.topic + "-duplicate",
		Value: []byte("{}"),
	}).FirstErr())
	long, err := json.Marshal(map[string]string{
		"id": "long", "text": "A text about the long names of newspapers, twice.",
		"source": strings.Repeat("x", 10_000),
	})
	require.NoError(t, err)
	maps.Copy(inputs, publish(t, c, []*kgo.Record{{Value: long}, {Value: long}}))
	watch(t, c, 402, func(int) {})
	require.Eventually(t, func() bool { return len(lastStories(t, c, topic)) > 20 }, service.Patience, time.Second)
	two.Kill()
	maps.Copy(inputs, publish(t, c, records[400:]))
	two = start()
	outputs := watch(t, c, 802, func(int) {})
	stop(t, product)

	want := expectedStories(t, inputs, outputs)
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

// expectedStories folds the outputs in memory.
func expectedStories(t *testing.T, inputs map[string]*kgo.Record, outputs []*kgo.Record) map[string]stories.Record {
	t.Helper()
	fold := stories.NewFold(&stories.Rules{Window: window})
	decode := decode.DefaultConfig()
	decode.FindPublished = true
	done := map[article.Coordinates]bool{}
	for _, r := range outputs {
		var headers []record.Header
		for _, h := range r.Headers {
			headers = append(headers, record.Header{Key: h.Key, Value: h.Value})
		}
		says, err := pipeline.ParseHeaders(headers)
		if err != nil || says.Reject != nil || done[says.Input] {
			continue
		}
		done[says.Input] = true
		in := inputs[says.Input.String()]
		content, _ := decode.Decode(&record.Record{Coordinates: says.Input, Value: in.Value})
		fold.Add(&says.Verdict, article.Ref{ID: content.ID, Coordinates: says.Input}, content, in.Timestamp)
	}
	all := map[string]stories.Record{}
	for _, r := range fold.Records() {
		all[r.Root.Coordinates] = withoutVersion(r)
	}
	return all
}

// comparable leaves out what depends on the way to a story.
func withoutVersion(r stories.Record) stories.Record {
	r.Version, r.State = 0, ""
	return r
}

// lastStories returns the last record of each key in the topic of stories; none as long as the topic does not exist.
func lastStories(t *testing.T, c cluster, topic string) map[string]stories.Record {
	t.Helper()
	admin := kadm.NewClient(client(t, kgo.SeedBrokers(c.kafka)))
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	end, found := ends.Lookup(topic, 0)
	all := map[string]stories.Record{}
	if !found || end.Err != nil || end.Offset == 0 {
		return all
	}
	reader := client(t, kgo.SeedBrokers(c.kafka), kgo.ConsumeTopics(topic), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for next := int64(0); next < end.Offset; {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			break
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if r.Attrs.IsControl() {
				return
			}
			var s stories.Record
			require.NoError(t, json.Unmarshal(r.Value, &s))
			require.Equal(t, s.Root.Coordinates, string(r.Key))
			all[string(r.Key)] = withoutVersion(s)
		})
	}
	return all
}

// requireStories waits until the topic holds the stories.
func requireStories(t *testing.T, c cluster, topic string, want map[string]stories.Record) {
	t.Helper()
	var got map[string]stories.Record
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		got = lastStories(t, c, topic)
		if len(got) == len(want) && sum(got) == sum(want) {
			break
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for root, w := range want {
		wanted, err := json.Marshal(w)
		require.NoError(t, err)
		have, err := json.Marshal(got[root])
		require.NoError(t, err)
		require.Equal(t, string(wanted), string(have))
	}
}

func sum(all map[string]stories.Record) (copies int) {
	for _, r := range all {
		copies += r.Copies + len(r.Related)
	}
	return copies
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
