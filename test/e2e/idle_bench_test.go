package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// BenchmarkIdle measures what 200 partitions without records cost: the CPU time of the service as a share of one core, and its open
// files, most of which are connections.
//
//	go test ./test/e2e -run NONE -bench Idle -benchtime 1x
func BenchmarkIdle(b *testing.B) {
	const partitions, measured = 200, 30 * time.Second
	kafka, redis := kafkaserver.Shared(b).Addr, redisserver.Addr(b)
	cl, err := kgo.NewClient(kgo.SeedBrokers(kafka))
	require.NoError(b, err)
	defer cl.Close()
	for _, wait := range []string{"500ms", "5s"} {
		b.Run("fetch_max_wait="+wait, func(b *testing.B) {
			var spent, files float64
			for b.Loop() {
				c := newCluster(b, kafka, redis)
				input := c.settings()["kafka.topics.input"] + "-wide"
				kafkaserver.CreateTopics(b, cl, partitions, nil, input)
				p := service.Start(b, c.settings().With(service.Settings{"kafka.topics.input": input, "kafka.fetch_max_wait": wait}))
				p.WaitReady(b)
				for p.Metric(b, "echosieve_consumer_assigned_partitions") < partitions || p.Metric(b, "process_open_fds") < partitions {
					time.Sleep(100 * time.Millisecond)
				}
				before := p.Metric(b, "process_cpu_seconds_total")
				time.Sleep(measured)
				spent += p.Metric(b, "process_cpu_seconds_total") - before
				files = max(files, p.Metric(b, "process_open_fds"))
				stop(b, p)
			}
			b.ReportMetric(100*spent/measured.Seconds()/float64(b.N), "%core")
			b.ReportMetric(files, "files")
			b.ReportMetric(0, "ns/op")
		})
	}
}
