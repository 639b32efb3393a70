package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/test/commandtest"
	"echosieve/test/host"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// testBroker is an in-process broker with the topics of the default configuration.
func testBroker(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	return c
}

// published returns the records of the input topic, and requires that there are exactly want.
func published(t *testing.T, c *kfake.Cluster, want int) []*kgo.Record {
	t.Helper()
	records := kafkatest.ConsumeUntil(t, kafkatest.Config(c.ListenAddrs()...),
		[]string{config.Default().Kafka.Topics.Inputs[0]}, kafkatest.AtLeast(want))
	require.Len(t, records, want)
	return records
}

func echosieve(t *testing.T, code int, in string, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, newRootCommand(), in, args...)
}

func TestProduceFiles(t *testing.T) {
	broker := testBroker(t)
	plain := commandtest.File(t, "a.jsonl", `{"id":"a1", "text":"x"}`+"\n"+`{"_id":{"$oid":"65f0c0ffee"},"text":"y"}`+
		"\n"+`{"id":7,"text":"z"}`+"\n"+`{"text":"no id"}`+"\n")
	zstd := commandtest.File(t, "c.gz", host.Zstd(t, `{"id":"c1","text":""}`))

	out, _ := echosieve(t, command.ExitOK, `{"url":"http://d/1","text":"d"}`+"\n", "produce", "--kafka.brokers",
		broker.ListenAddrs()[0], "--json", plain, "-", zstd)
	for _, want := range []string{`"topic": "articles",`, `"published": 6,`, `"bad": 0,`} {
		require.Contains(t, out, want)
	}

	got, keys := map[string]string{}, []string{}
	records := published(t, broker, 6)
	for _, r := range records {
		require.Equal(t, records[0].Partition, r.Partition)
		require.WithinDuration(t, time.Now(), r.Timestamp, 10*time.Minute)
		key := string(r.Key)
		if r.Key == nil {
			key = "(null)"
		}
		got[string(r.Value)], keys = key, append(keys, key)
	}
	require.Equal(t, []string{"a1", "65f0c0ffee", "7", "(null)", "http://d/1"}, keys[:5], "the order of the files")
	require.Equal(t, map[string]string{
		`{"id":"a1", "text":"x"}`:                  "a1",
		`{"_id":{"$oid":"65f0c0ffee"},"text":"y"}`: "65f0c0ffee",
		`{"id":7,"text":"z"}`:                      "7",
		`{"text":"no id"}`:                         "(null)",
		`{"url":"http://d/1","text":"d"}`:          "http://d/1",
		`{"id":"c1","text":""}`:                    got[`{"id":"c1","text":""}`], // no text: it may have any key
	}, got)
}

func TestProduceStrict(t *testing.T) {
	broker := testBroker(t)
	const badLines = "{\"text\":\"1\"}\nnot json\n{\"text\":\"2\"}\n"
	file := commandtest.File(t, "bad.jsonl", badLines)
	strict := []string{"produce", "--strict", "--json", "--kafka.brokers", broker.ListenAddrs()[0]}
	out, errOut := echosieve(t, command.ExitNo, "", append(strict, file, file)...)
	require.Contains(t, errOut, file+":2: stopped at a bad line")
	require.Contains(t, out, `"published": 1,`)
	require.Contains(t, out, `"bad": 1,`)

	_, errOut = echosieve(t, command.ExitNo, badLines, strict...)
	require.Contains(t, errOut, "stdin:2: the value is not a JSON object")
	published(t, broker, 2)
}

// The first 1,000 records go into one partition, further ones by their keys.
func TestProduceManyRecords(t *testing.T) {
	broker := testBroker(t)
	const n = 1100
	text := ""
	for i := range n {
		text += fmt.Sprintf(`{"id":"%d","text":"t"}`+"\n", i)
	}
	echosieve(t, command.ExitOK, text, "produce", "--kafka.brokers", broker.ListenAddrs()[0])
	together := map[int32]int{}
	others := 0
	for _, r := range published(t, broker, n) {
		if i, _ := strconv.Atoi(string(r.Key)); i < 1000 {
			together[r.Partition]++
		} else if together[r.Partition] == 0 {
			others++
		}
	}
	require.Equal(t, []int{1000}, slices.Collect(maps.Values(together)))
	require.Positive(t, others)
}

// Produce creates the topic into which it publishes, and no other: it needs no right on the outputs.
func TestProduceCreatesItsTopic(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	args := []string{"produce", "--kafka.create_topics", "--kafka.partitions", "3", "--kafka.brokers", cfg.Brokers[0]}
	_, errOut := echosieve(t, command.ExitOK, `{"text":"x"}`, args...)
	require.Contains(t, errOut, "created topic articles with 3 partitions\n")
	topics, err := kadm.NewClient(kafkatest.Client(t, cfg)).ListTopics(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{config.Default().Kafka.Topics.Inputs[0]}, topics.Names())

	_, errOut = echosieve(t, command.ExitOK, `{"text":"x"}`, args...)
	require.NotContains(t, errOut, "created")
}
