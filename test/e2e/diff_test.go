package e2e

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// diffed is what the test reads of the result of echosieve diff.
type diffed struct {
	Both, Agree, Exchanged int
	CopiesOnlyA            int `json:"copies_only_a"`
	CopiesOnlyB            int `json:"copies_only_b"`
	Changes                []struct {
		A, B struct{ Verdict, Reason string }

		Records int
	}
}

// TestDiffOfShadows compares a service with two shadows that read the topic later, and so in another order: one with the service's settings and
// one with other thresholds. The first agrees, although original and copy have changed places. The second shows the copies that the
// thresholds made possible ones, and next to nothing else.
func TestDiffOfShadows(t *testing.T) {
	c := newCluster(t, kafkaserver.Start(t, kafkaserver.V4).Addr, redisserver.Addr(t))
	kafka := client(t, kgo.SeedBrokers(c.kafka))
	records := fresh(articles(t))
	product := service.Start(t, c.settings())
	product.WaitReady(t)
	for part := range slices.Chunk(records, 200) { // articles come one after another, whatever their partition
		publish(t, c, part)
	}
	watch(t, c, len(records), func(int) {})
	stop(t, product)

	outputs := strings.Join([]string{c.topic + "-unique", c.topic + "-duplicate", c.topic + "-dead"}, ",")
	compared := func(name string, flags ...string) (d diffed) {
		topic, group := c.topic+"-"+name+"-shadow", c.topic+"-"+name+"-group-shadow"
		kafkaserver.CreateTopics(t, kafka, partitions, nil, topic)
		settings := c.settings().With(service.Settings{"redis.namespace": c.namespace + name, "shadow.topic": topic, "shadow.group": group})
		shadow := service.Start(t, settings, func(cmd *exec.Cmd) { cmd.Args = append(append(cmd.Args, "--shadow"), flags...) })
		shadow.WaitReady(t)
		watchShadow(t, c.kafka, topic, len(records))
		stop(t, shadow)
		require.NoError(t, json.Unmarshal(tool(t, c, "diff", "--json", outputs, topic), &d))
		t.Logf("%s: %+v", name, d)
		require.Equal(t, len(records), d.Both)
		return d
	}

	same := compared("same")
	require.Positive(t, same.Exchanged, "the shadow read the articles in the order of the service: the test tests nothing")
	require.GreaterOrEqual(t, float64(same.Agree), .995*float64(same.Both))

	other := compared("other", "--detection.near", "0.95", "--detection.short_near", "0.95")
	expected, unexpected := 0, 0
	for _, change := range other.Changes {
		// A higher threshold makes fewer copies. An article that is no copy of its original any more can resemble it, or be too far from it.
		if change.A.Verdict == "near" && change.A.Reason == "overlap" && (change.B.Verdict == "possible" || change.B.Verdict == "unique") {
			expected += change.Records
		} else {
			unexpected += change.Records
		}
	}
	require.Greater(t, expected, 5)
	require.Less(t, unexpected, same.Both/200)
}
