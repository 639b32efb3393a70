package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/pipeline/text"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// BenchmarkService measures the CPU time that one service process takes for a record, with real Kafka and
// real Redis, and its resident memory. For comparison it measures a bare gojieba Cut of the same texts in the
// same run:
//
//	ECHOSIEVE_TEST_STORED=100000 go test ./test/e2e -run NONE -bench Service -benchtime 3x
//
// ECHOSIEVE_TEST_STORED is the number of other articles that are put into the index first; the default is 0.
func BenchmarkService(b *testing.B) {
	records := articles(b)
	bareCut, err := text.LoadBareCut()
	require.NoError(b, err)
	decode := decode.DefaultConfig()
	var texts []string
	for _, r := range records {
		if doc, reject := decode.Decode(&record.Record{Value: r.Value}); reject == nil {
			texts = append(texts, doc.Text)
		}
	}
	stored, _ := strconv.Atoi(os.Getenv("ECHOSIEVE_TEST_STORED"))
	kafka, redis := kafkaserver.Shared(b).Addr, redisserver.Addr(b)
	var spent, cut, resident float64
	for b.Loop() {
		c := newCluster(b, kafka, redis)
		p := service.Start(b, c.settings())
		p.WaitReady(b)
		publish(b, c, others(records, stored))
		watch(b, c, stored, func(int) {})
		before := p.Metric(b, "process_cpu_seconds_total")
		publish(b, c, fresh(records))
		watch(b, c, stored+len(records), func(int) {})
		spent += p.Metric(b, "process_cpu_seconds_total") - before
		resident = max(resident, p.Metric(b, "process_resident_memory_bytes"))
		stop(b, p)

		start := ownCPU(b)
		bareCut(texts)
		cut += (ownCPU(b) - start).Seconds()
	}
	n := float64(b.N * len(records))
	b.ReportMetric(spent/n*1e6, "service-us/record")
	b.ReportMetric(cut/n*1e6, "cut-us/record")
	b.ReportMetric(spent/cut, "service/cut")
	b.ReportMetric(resident/(1<<20), "MiB-resident")
	b.ReportMetric(0, "ns/op") // the wall-clock time depends on batches and waits
}

// others returns n records of words that no other record has, with timestamps spread over those of the given records.
func others(records []*kgo.Record, n int) []*kgo.Record {
	r := rand.New(rand.NewPCG(1, 2))
	made := make([]*kgo.Record, n)
	for i := range made {
		var text strings.Builder
		for range 30 {
			for range 8 {
				text.WriteByte(byte('a' + r.IntN(26)))
			}
			text.WriteByte(' ')
		}
		value := fmt.Appendf(nil, `{"id":"other-%d","text":%q}`, i, text.String())
		made[i] = &kgo.Record{Value: value, Timestamp: records[r.IntN(len(records))].Timestamp}
	}
	return made
}

func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
