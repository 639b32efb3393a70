package e2e

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// BenchmarkRefill compares the CPU time that index refill takes for an article with that of the service which has published it, in the
// same run. The time of a refill that finds nothing left to do is its start, which does not count.
//
//	go test ./test/e2e -run NONE -bench Refill -benchtime 2x
//
// With ECHOSIEVE_TEST_CORPORA, or the corpora beside the repository, it measures 13,000 real articles, half of them Chinese.
func BenchmarkRefill(b *testing.B) {
	records := recent(articlesForRefill(b))
	server := redisserver.Start(b)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	b.Cleanup(func() { _ = admin.Close() })
	kafka := kafkaserver.Shared(b).Addr
	var served, refilled, begun float64
	for b.Loop() {
		c := newCluster(b, kafka, server.Addr)
		p := service.Start(b, c.settings())
		p.WaitReady(b)
		idle := p.Metric(b, "process_cpu_seconds_total")
		publish(b, c, fresh(records))
		watch(b, c, len(records), func(int) {})
		served += p.Metric(b, "process_cpu_seconds_total") - idle
		stop(b, p)
		require.NoError(b, admin.FlushAll(b.Context()).Err())
		whole, cmd := refill(b, c.settings())
		require.Greater(b, int(whole.Restored+whole.Held), len(records)*9/10)
		_, start := refill(b, c.settings())
		begun += seconds(start)
		refilled += seconds(cmd) - seconds(start)
	}
	n := float64(b.N * len(records))
	b.ReportMetric(served/n*1e6, "service-us/record")
	b.ReportMetric(refilled/n*1e6, "refill-us/record")
	b.ReportMetric(begun/float64(b.N), "start-s")
	b.ReportMetric(served/refilled, "service/refill")
	b.ReportMetric(0, "ns/op") // the wall-clock time depends on waits
}

// articlesForRefill returns so many articles that the start of a command is a small part of its time.
func articlesForRefill(b *testing.B) []*kgo.Record {
	dir := os.Getenv("ECHOSIEVE_TEST_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	var records []*kgo.Record
	for _, name := range []string{"en_senate2006.jsonl.gz", "zh_xwlb_2024_2026.jsonl.gz", "bench_zh.jsonl.gz"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			b.Logf("%v: the articles of the other tests", err)
			return fresh(articles(b))
		}
		defer f.Close()
		unzip, err := gzip.NewReader(f)
		require.NoError(b, err)
		records = append(records, fromCorpus(b, unzip)...)
	}
	return records
}
