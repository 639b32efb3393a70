package e2e

import (
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// A service and its shadow run from the same settings, the shadow with another threshold. The shadow is
// killed and started again. The service must work as if it were alone. Each record must stand in the shadow's
// topic once. No key in Redis may belong to both.
func TestShadowDisturbsNothing(t *testing.T) {
	records := fresh(articles(t)[:1000])
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	server := redisserver.Start(t)
	c := newCluster(t, kafkaserver.Shared(t).Addr, server.Addr)
	kafka := client(t, kgo.SeedBrokers(c.kafka))
	shadowTopic := c.topic + "-shadow"
	kafkaserver.CreateTopics(t, kafka, partitions, nil, shadowTopic)
	settings := c.settings().With(service.Settings{"kafka.commit_interval": "200ms"})
	startShadow := func(args ...string) *service.Process {
		// A short session timeout: the second shadow waits until the session of the killed one has ended.
		short := settings.With(service.Settings{"kafka.session_timeout": "2s", "kafka.drain_timeout": "1s"})
		return service.Start(t, short, func(cmd *exec.Cmd) {
			cmd.Args = append(cmd.Args, append([]string{"--shadow", "--detection.near", "0.9"}, args...)...)
		})
	}
	// nothing is committed before the kill
	product, shadow := service.Start(t, settings), startShadow("--kafka.commit_interval", "1h")
	product.WaitReady(t)
	shadow.WaitReady(t)

	half := len(records) / 2
	inputs := publish(t, c, records[:half])
	watchTopics(t, c, half/2, func(int) {}, shadowTopic)
	shadow.Kill()
	shadow = startShadow()
	maps.Copy(inputs, publish(t, c, records[half:]))
	outputs := watch(t, c, len(records), func(int) {})
	shadowed := watchTopics(t, c, len(records), func(int) {}, shadowTopic)
	require.Len(t, shadowed, len(records), "the second shadow publishes nothing that the killed one had published")
	// The service counts a record after the broker has acknowledged it. A consumer may see the record before.
	require.Eventually(t, func() bool {
		already := shadow.Metric(t, "echosieve_consumer_already_acknowledged_records_total")
		return already > 0 &&
			already+shadow.Metric(t, `echosieve_consumer_acknowledged_records_total{topic="shadow"}`) == float64(
				len(records))
	}, service.Patience, 50*time.Millisecond)
	require.Contains(t, shadow.Get("/metrics"), `shadow="true"`)
	require.Contains(t, product.Get("/metrics"), `shadow="false"`)
	require.NotContains(t, product.Get("/metrics"), `topic="shadow"`)
	stop(t, shadow)
	stop(t, product)

	checkShadow(t, inputs, shadowed)
	seen := account(t, c, recipe, inputs, outputs)
	require.Len(t, outputs, len(inputs), "the service was not stopped, so each output topic holds each record once")
	differ := 0
	for _, r := range shadowed {
		h, service := ledger.Headers(r), seen[ledger.Headers(r)[pipeline.HeaderInput]]
		require.NotContains(t, service.Headers, pipeline.HeaderShadow)
		if service.Verdict() != "" {
			require.NotEqual(t, service.Headers[pipeline.HeaderRecipe], h[pipeline.HeaderRecipe])
		}
		if service.Verdict() != h[pipeline.HeaderVerdict] {
			differ++
		}
	}
	require.Positive(t, differ, "the shadow tried the settings of the service")
	owners := map[string]bool{}
	for _, key := range redisrig.Client(t, server.Addr).Keys(t.Context(), "*").Val() {
		owner, _, _ := strings.Cut(key, ":")
		owners[owner] = true
	}
	require.Equal(t, map[string]bool{c.namespace: true, c.namespace + "-shadow": true}, owners)
	waitCommitted(t, c, len(records))
	c.topic += "-shadow" // the name of its group
	waitCommitted(t, c, len(records))
}

// checkShadow checks each record of the shadow's topic: it is marked, has no value, and keeps the key,
// timestamp and headers of the input.
func checkShadow(t *testing.T, inputs map[string]*kgo.Record, shadowed []*kgo.Record) {
	t.Helper()
	require.Len(t, byVerdict(shadowed), len(inputs))
	destinations := ledger.Topics{Unique: "unique", Possible: "possible", Duplicate: "duplicate", Dead: "dead"}
	for _, r := range shadowed {
		h := ledger.Headers(r)
		in := inputs[h[pipeline.HeaderInput]]
		require.NotNil(t, in, h)
		require.Nil(t, r.Value)
		require.Equal(t, in.Key, r.Key)
		require.Equal(t, in.Timestamp.UnixMilli(), r.Timestamp.UnixMilli())
		require.Equal(t, ledger.Headers(in)["crawler"], h["crawler"])
		require.Equal(t, in.Partition, r.Partition)
		destination, known := destinations.Of(&ledger.Outcome{Headers: h})
		require.True(t, known, h)
		require.Equal(t, destination, h[pipeline.HeaderShadow])
	}
}
