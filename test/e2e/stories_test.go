package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/app/storylist"
	"echosieve/stories"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// Two processes read the output topics of a service into stories. One is killed, and Redis loses all. Each time the
// topic of stories must come to hold exactly the stories that follow from the outputs. Who follows them has each record
// once, and so has the topic of changes what is new in each version. Records that are not from Echosieve count for
// nothing.
func TestStories(t *testing.T) {
	const first = 1000 // the others are published while somebody follows
	_, records := written(t, 6*first)
	server := redisserver.Start(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, server.Addr)
	topic := c.topic + "-stories"
	settings := c.settings().With(service.Settings{
		"kafka.session_timeout": "2s", "kafka.commit_interval": "200ms", "http.look": "true",
	})
	start := func(args ...string) *service.Process { return storiesOf(t, c, settings, append(args, "--changes")...) }
	product := service.Start(t, settings)
	one, two := start(), start()
	inputs := publish(t, c, records[:first])
	// somebody else's record, and one with a publisher of 10 KB
	producer := kafkaserver.Client(t, c.kafka)
	foreigner := &kgo.Record{Topic: c.topic + "-duplicate", Value: []byte("{}")}
	require.NoError(t, producer.ProduceSync(t.Context(), foreigner).FirstErr())
	long := fmt.Appendf(nil, `{"id":"long","text":"A text about the long names of newspapers, twice.","source":"%s"}`,
		strings.Repeat("x", 10_000))
	maps.Copy(inputs, publish(t, c, []*kgo.Record{{Value: long}, {Value: long}}))
	watch(t, c, first+2, func(int) {})
	require.Eventually(t, func() bool {
		got, err := ledger.LastStories(t.Context(), []string{c.kafka}, topic)
		return err == nil && len(got) > 20
	}, service.Patience, time.Second)
	followed := follow(t, one)
	maps.Copy(inputs, publish(t, c, records[first:]))
	followed.next(t)
	two.Kill()
	two = start()
	outputs := watch(t, c, len(inputs), func(int) { followed.next(t) })
	stop(t, product)

	want := ledger.Stories(inputs, outputs, window)
	require.Greater(t, len(want), 1000)
	requireStories(t, c, topic, want)
	followed.requireAll(t, c, topic)
	requireVersions(t, c, outputs)
	foreign := one.Metric(t, `echosieve_stories_records_total{result="foreign"}`) +
		two.Metric(t, `echosieve_stories_records_total{result="foreign"}`)
	require.LessOrEqual(t, foreign, 2.0, "the killed process may have read it, and another one again")
	checkStoriesTopic(t, producer, topic)

	// What Redis has lost is built anew, and so is what somebody wants to be.
	edition := func() string {
		keys := server.Client.Keys(t.Context(), c.namespace+":*:t").Val()
		require.Len(t, keys, 1)
		return server.Client.Get(t.Context(), keys[0]).Val()
	}
	before := edition()
	emptyTopic(t, producer, topic)
	require.NoError(t, server.Client.FlushAll(t.Context()).Err())
	requireStories(t, c, topic, want)
	lost := edition()
	require.NotEqual(t, before, lost)
	stop(t, two)
	emptyTopic(t, producer, topic)
	two = start("--rebuild")
	requireStories(t, c, topic, want)
	require.NotEqual(t, lost, edition())
	stop(t, one)
	stop(t, two)
	requireVersions(t, c, outputs)
}

// follower follows the stories by their cursor.
type follower struct {
	process  *service.Process
	cursor   string
	offset   int64 // of the cursor where it began
	versions []string
}

// follow begins at the end of the topic.
func follow(t *testing.T, p *service.Process) *follower {
	t.Helper()
	f := &follower{process: p}
	var answer storylist.Answer
	require.Eventually(t, func() bool {
		status, body, _ := strings.Cut(f.process.Get(storylist.Path), " ")
		return status == "200" && json.Unmarshal([]byte(body), &answer) == nil
	}, service.Patience, 100*time.Millisecond)
	f.cursor = answer.Next
	_, offset, _ := strings.Cut(f.cursor, ".")
	var err error
	f.offset, err = strconv.ParseInt(offset, 10, 64)
	require.NoError(t, err)
	return f
}

// next asks once; more says that there is more now.
func (f *follower) next(t *testing.T) (more bool) {
	var c storylist.Changes
	status, body, _ := strings.Cut(f.process.Get(storylist.Path+"?limit=37&after="+f.cursor), " ")
	if status != "200" {
		return true // asked again
	}
	require.NoError(t, json.Unmarshal([]byte(body), &c), body)
	require.False(t, c.Reset)
	for i := range c.Stories {
		f.versions = append(f.versions, fmt.Sprint(c.Stories[i].Root.Coordinates, " ", c.Stories[i].Version))
	}
	f.cursor = c.Next
	return c.More
}

// requireAll follows to the end, and requires that each record of the topic came once and in order.
func (f *follower) requireAll(t *testing.T, c cluster, topic string) {
	t.Helper()
	for f.next(t) {
	}
	records, err := kafkaserver.ReadAll(t.Context(), []string{c.kafka}, []string{topic})
	require.NoError(t, err)
	var want []string
	for _, r := range records {
		if r.Offset >= f.offset {
			var s stories.Record
			require.NoError(t, json.Unmarshal(r.Value, &s))
			want = append(want, fmt.Sprint(s.Root.Coordinates, " ", s.Version))
		}
	}
	require.Greater(t, len(want), 1000)
	require.Equal(t, want, f.versions)
}

// requireVersions waits until the topic of changes holds what is new in each version, once.
func requireVersions(t *testing.T, c cluster, outputs []*kgo.Record) {
	t.Helper()
	require.EventuallyWithT(t, func(e *assert.CollectT) {
		got, err := kafkaserver.ReadAll(t.Context(), []string{c.kafka}, []string{c.topic + "-changes"})
		require.NoError(e, err)
		require.Greater(e, len(got), 50)
		require.Empty(e, ledger.CompareChanges(outputs, got))
	}, service.Patience, 500*time.Millisecond)
}

// requireStories waits until the topic holds the stories.
func requireStories(t *testing.T, c cluster, topic string, want map[string]stories.Record) {
	t.Helper()
	require.EventuallyWithT(t, func(e *assert.CollectT) {
		got, err := ledger.LastStories(t.Context(), []string{c.kafka}, topic)
		require.NoError(e, err)
		require.Empty(e, ledger.CompareStories(want, got))
	}, service.Patience, 200*time.Millisecond)
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
