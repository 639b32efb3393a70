package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// families returns articles of 200 publishers. Families are of all sizes; the first ones have some 200 of 100,000.
func families(n int) []*kgo.Record {
	random := rand.New(rand.NewPCG(1, 3))
	records := make([]*kgo.Record, n)
	start := time.Now().Add(-72 * time.Hour)
	for i := range records {
		family := random.IntN(1 + random.IntN(1+random.IntN(1+n/5)))
		text := wordsOf(fmt.Sprint("family-", family))
		if random.IntN(2) == 0 {
			text += fmt.Sprint(" word", i)
		}
		records[i] = &kgo.Record{
			Value: fmt.Appendf(nil, `{"id":"%d","title":"Title %d","source":"publisher %d","text":%q}`, i, i,
				random.IntN(200), text),
			Timestamp: start.Add(time.Duration(random.IntN(3600)) * time.Second),
		}
	}
	return records
}

// storiesOf starts a process of the role of stories.
func storiesOf(t testing.TB, c cluster, settings service.Settings, args ...string) *service.Process {
	t.Helper()
	return service.Start(t, settings.With(service.Settings{"kafka.create_topics": "true"}), func(cmd *exec.Cmd) {
		cmd.Args = append([]string{cmd.Args[0], "stories", "--topic", c.topic + "-stories"}, args...)
	})
}

// BenchmarkStories measures one process of the role of stories beside the service: CPU time of its own and of Redis
// while it works off what the output topics hold.
//
//	go test ./test/e2e -run NONE -bench Stories -benchtime 1x
func BenchmarkStories(b *testing.B) {
	const n = 20_000
	kafka, server := kafkaserver.Shared(b).Addr, redisserver.Start(b)
	index := redis.NewClient(&redis.Options{Addr: server.Addr})
	b.Cleanup(func() { index.Close() })
	for b.Loop() {
		c := newCluster(b, kafka, server.Addr)
		product := service.Start(b, c.settings())
		product.WaitReady(b)
		publish(b, c, families(n))
		copies := 0
		for _, o := range watch(b, c, n, func(int) {}) {
			if v := ledger.Headers(o)[pipeline.HeaderVerdict]; v == "exact" || v == "near" {
				copies++
			}
		}
		stop(b, product)

		keys := func() int64 { return index.DBSize(b.Context()).Val() }
		indexed, before := keys(), cpuOf(b, server.Pid())
		p := storiesOf(b, c, c.settings())
		read := func(result string) float64 {
			return p.Metric(b, fmt.Sprintf("echosieve_stories_records_total{result=%q}", result))
		}
		cpu := p.Metric(b, "process_cpu_seconds_total") // it reads no record yet
		for keys() < indexed+10 {                       // a look at the metrics would cost some milliseconds
			time.Sleep(10 * time.Millisecond)
		}
		began, first := time.Now(), read("copy")
		for read("copy") < float64(copies) || read("none") < float64(n-copies) {
			time.Sleep(200 * time.Millisecond)
		}
		b.ReportMetric((float64(copies)-first)/time.Since(began).Seconds(), "copies/s")
		time.Sleep(time.Second) // the last records are counted before their stories are published
		cpu = p.Metric(b, "process_cpu_seconds_total") - cpu
		b.ReportMetric(cpu/n*1e6, "us/record")
		b.ReportMetric((cpuOf(b, server.Pid())-before)/float64(copies)*1e6, "redis-us/copy")
		b.ReportMetric(bytesOfStories(b, index, c, 3), "bytes/story-of-3")
		stop(b, p)
	}
	b.ReportMetric(0, "ns/op")
}

// bytesOfStories returns the mean memory of the states of stories with so many copies.
func bytesOfStories(b *testing.B, index *redis.Client, c cluster, copies int) float64 {
	b.Helper()
	last, err := ledger.LastStories(b.Context(), []string{c.kafka}, c.topic+"-stories")
	require.NoError(b, err)
	bytes, found := int64(0), 0
	for keys := index.Scan(b.Context(), 0, c.namespace+":*:t:*", 1000).Iterator(); keys.Next(b.Context()); {
		_, root, _ := strings.Cut(keys.Val(), ":t:")
		_, root, _ = strings.Cut(root, ":")
		if last[root].Copies == copies {
			used, err := index.MemoryUsage(b.Context(), keys.Val()).Result()
			require.NoError(b, err)
			bytes, found = bytes+used, found+1
		}
	}
	require.Positive(b, found)
	return float64(bytes) / float64(found)
}
