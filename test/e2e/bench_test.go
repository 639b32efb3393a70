package e2e

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
)

// BenchmarkService measures the CPU time of one service process per record, real Kafka and real Redis clients
// included, beside a bare jieba Cut over the same texts in the same run, and the process's resident memory:
//
//	go test ./test/e2e -run NONE -bench Service -benchtime 5x
func BenchmarkService(b *testing.B) {
	records := articles(b)
	recipe, err := pipeline.LoadRecipe(pipeline.DefaultRecipeConfig())
	require.NoError(b, err)
	decode := pipeline.DefaultDecodeConfig()
	var texts []string
	for _, r := range records {
		if doc, reject := decode.Decode(&pipeline.Record{Value: r.Value}); reject == nil {
			texts = append(texts, doc.Text)
		}
	}
	kafka, redis := kafkaserver.Start(b, kafkaserver.V4).Addr, redisserver.Addr(b)
	var service, cut, resident float64
	for b.Loop() {
		c := newCluster(b, kafka, redis)
		p := startService(b, c)
		p.waitReady(b)
		before := p.gauge(b, "process_cpu_seconds_total")
		publish(b, c, fresh(records))
		watch(b, c, len(records), func(int) {})
		service += p.gauge(b, "process_cpu_seconds_total") - before
		resident = max(resident, p.gauge(b, "process_resident_memory_bytes"))
		p.stop(b)

		start := ownCPU(b)
		recipe.BareCut(texts)
		cut += (ownCPU(b) - start).Seconds()
	}
	n := float64(b.N * len(records))
	b.ReportMetric(service/n*1e6, "service-us/record")
	b.ReportMetric(cut/n*1e6, "cut-us/record")
	b.ReportMetric(service/cut, "service/cut")
	b.ReportMetric(resident/(1<<20), "MiB-resident")
	b.ReportMetric(0, "ns/op") // wall clock says nothing here
}

// gauge reads one sample without labels from the service's /metrics.
func (p *process) gauge(t testing.TB, name string) float64 {
	t.Helper()
	res, err := http.Get("http://" + p.http + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	require.NoError(t, err)
	require.Contains(t, families, name)
	m := families[name].GetMetric()[0]
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
