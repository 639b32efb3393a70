package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// Consumers of others that use the group by mistake, in Java and with librdkafka, go on reading their own topic, whoever
// was there first. The service decides its articles and names the other programs.
func TestConsumersOfOthersInTheGroup(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	theirs := c.topic + "-theirs"
	kafkaserver.CreateTopics(t, kafkaserver.Client(t, c.kafka), partitions, nil, theirs)
	consumers := map[string]*exec.Cmd{
		"java":       kafkaserver.ConsoleConsumer(t, "--bootstrap-server", c.kafka, "--topic", theirs, "--group", c.topic),
		"librdkafka": exec.CommandContext(t.Context(), "kcat", "-b", c.kafka, "-u", "-G", c.topic, theirs),
	}
	out := map[string]*service.Output{}
	start := func(name string) {
		out[name] = &service.Output{}
		consumers[name].Stdout, consumers[name].Stderr = out[name], out[name]
		require.NoError(t, consumers[name].Start())
	}
	// read waits until each of them has read a record with a word. A record is long, because kcat fills a buffer before it
	// writes.
	kafka := kafkaserver.Client(t, c.kafka, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	read := func(word string) {
		value := []byte(word + strings.Repeat(" and so on", 1000))
		require.Eventually(t, func() bool {
			var records []*kgo.Record
			for p := range int32(partitions) {
				records = append(records, &kgo.Record{Topic: theirs, Partition: p, Value: value})
			}
			require.NoError(t, kafka.ProduceSync(t.Context(), records...).FirstErr())
			for _, o := range out {
				if !strings.Contains(o.String(), word) {
					return false
				}
			}
			return true
		}, service.Patience, 200*time.Millisecond)
	}
	start("java")
	read("before")
	p := service.Start(t, c.settings())
	start("librdkafka")
	_, records := written(t, 300)
	publish(t, c, records)
	watch(t, c, len(records), func(int) {})
	read("beside")
	require.Eventually(t, func() bool {
		return strings.Contains(p.Log(), "programs other than Echosieve") && strings.Contains(p.Log(), "rdkafka")
	}, service.Patience, 100*time.Millisecond)
	require.NotContains(t, out["java"].String(), "Exception")
	require.NotContains(t, out["librdkafka"].String(), "ERROR")
	stop(t, p)
	read("behind")
}
