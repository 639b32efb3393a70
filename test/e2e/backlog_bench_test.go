package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// BenchmarkBacklog measures a service that catches up on articles of 5 to 50 KB in 48 partitions, with two
// values of kafka.max_in_flight_bytes: the articles a second, the CPU time of the service for an article, and
// the peak of its resident memory:
//
//	go test ./test/e2e -run NONE -bench Backlog -benchtime 4000x -timeout 1h
func BenchmarkBacklog(b *testing.B) {
	kafka, server := kafkaserver.Shared(b).Addr, redisserver.Start(b)
	for _, limit := range []string{"16MiB", "64MiB"} {
		b.Run(limit, func(b *testing.B) {
			name := fmt.Sprintf("backlog-%d", time.Now().UnixNano())
			c := cluster{kafka: kafka, redis: server.Addr, namespace: name, topic: name}
			producer := client(b, kgo.SeedBrokers(kafka), kgo.DefaultProduceTopic(name),
				kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
			kafkaserver.CreateTopics(b, producer, 48, nil, name, name+"-unique", name+"-duplicate", name+"-dead")
			r := rand.New(rand.NewPCG(uint64(b.N), 7))
			words := make([]string, 20_000)
			for i := range words {
				words[i] = word(r)
			}
			records := make([]*kgo.Record, b.N)
			for i := range records {
				var text strings.Builder
				for size := 5_000 + r.IntN(45_000); text.Len() < size; {
					text.WriteString(words[int(r.ExpFloat64()*2_000)%len(words)])
					text.WriteByte(' ')
				}
				records[i] = &kgo.Record{Value: fmt.Appendf(nil, `{"id":"%d","text":%q}`, i, text.String())}
			}
			require.NoError(b, producer.ProduceSync(b.Context(), records...).FirstErr())
			b.ResetTimer()
			p := service.Start(b, c.settings().With(service.Settings{"kafka.max_in_flight_bytes": limit}))
			defer func() { stop(b, p) }()
			p.WaitReady(b)
			start := time.Now()
			watch(b, c, b.N, func(int) {})
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "articles/s")
			b.ReportMetric(p.Metric(b, "process_cpu_seconds_total")*1e6/float64(b.N), "service-us/article")
			b.ReportMetric(float64(p.PeakMemory())/(1<<20), "MiB")
		})
	}
}
