package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/redisindex/connection"
	"echosieve/test/child"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// BenchmarkFlood measures the CPU time that service and Redis take for an article in a flood of articles on
// one template, and the resident memory of the service. For comparison it measures unrelated articles of the
// same length in the same run:
//
//	ECHOSIEVE_TEST_STORED=100000 ECHOSIEVE_TEST_FLOOD=20000 go test ./test/e2e -run NONE -bench Flood -benchtime 1x -timeout 1h
//
// ECHOSIEVE_TEST_FLOOD is the number of articles of each kind. Block lists are full from about 2,000 articles
// on: without the variable, the benchmark publishes only 300, to show that it works. ECHOSIEVE_TEST_STORED is
// the number of other articles that are put into the index first; the default is 0.
func BenchmarkFlood(b *testing.B) {
	n := 300
	if text := os.Getenv("ECHOSIEVE_TEST_FLOOD"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	kafka, server := kafkaserver.Shared(b).Addr, redisserver.Start(b, "--hash-max-listpack-value",
		strconv.Itoa(connection.ListpackBytes))
	for _, flood := range []struct {
		name     string
		template func(r *rand.Rand, i int) string
	}{
		{"flashes", func(r *rand.Rand, i int) string {
			return fmt.Sprintf("short note number %d about thing %s and place %s", i, word(r), word(r))
		}},
		{"articles", func(r *rand.Rand, i int) string {
			return fmt.Sprintf(longTemplate, word(r), word(r), i, word(r), r.IntN(1000), word(r))
		}},
	} {
		b.Run(flood.name, func(b *testing.B) {
			var cpu [2]float64 // of the flood, of unrelated articles
			var resident [2]float64
			for b.Loop() {
				for kind := range cpu {
					r := rand.New(rand.NewPCG(uint64(n), 3))
					texts := make([]string, n)
					for i := range texts {
						texts[i] = flood.template(r, i)
						if kind == 1 {
							texts[i] = unrelated(r, texts[i])
						}
					}
					spent, rss := served(b, kafka, server, texts)
					cpu[kind] += spent
					resident[kind] = max(resident[kind], rss)
				}
			}
			per := 1e6 / float64(b.N*n)
			b.ReportMetric(cpu[0]*per, "flood-us/record")
			b.ReportMetric(cpu[1]*per, "unrelated-us/record")
			b.ReportMetric(cpu[0]/cpu[1], "flood/unrelated")
			b.ReportMetric(resident[0]/(1<<20), "flood-MiB")
			b.ReportMetric(resident[1]/(1<<20), "unrelated-MiB")
			b.ReportMetric(0, "ns/op") // the wall-clock time depends on batches and waits
		})
	}
}

// longTemplate has about 90 words.
const longTemplate = `The county office of %s said on Monday that the yearly survey of roads and bridges around %s is complete.
Inspectors looked at %d structures and found most of them in good order, while a handful need repairs before winter comes. The
work is paid for by the common fund and will be done by local firms, said the head of the office, %s. Residents can see the full
list at the counter and ask questions until the end of the month. Last year %d repairs were made, and all of them were finished in
time. The next survey begins in spring with the valley of %s, where floods have damaged several small crossings.`

// word returns a word that no dictionary has.
func word(r *rand.Rand) string {
	letters := make([]byte, 5+r.IntN(4))
	for i := range letters {
		letters[i] = byte('a' + r.IntN(26))
	}
	return string(letters)
}

// unrelated replaces every word by another word of the same length.
func unrelated(r *rand.Rand, text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' {
			return 'a' + rune(r.IntN(26))
		}
		return c
	}, text)
}

// served publishes the texts to a new service and waits for their verdicts. It returns the CPU time of
// service and Redis together in seconds, and the peak of the service's resident memory in bytes.
func served(b *testing.B, kafka string, server *redisserver.Server, texts []string) (cpu, resident float64) {
	c := newCluster(b, kafka, server.Addr)
	p := service.Start(b, c.settings())
	p.WaitReady(b)
	records := make([]*kgo.Record, len(texts))
	start := time.Now().Add(-time.Hour)
	for i, text := range texts {
		records[i] = &kgo.Record{Value: fmt.Appendf(nil, `{"id":"%d","text":%q}`, i, text),
			Timestamp: start.Add(time.Duration(i) * time.Millisecond)}
	}
	stored, _ := strconv.Atoi(os.Getenv("ECHOSIEVE_TEST_STORED"))
	publish(b, c, others(records, stored))
	watch(b, c, stored, func(int) {})
	before := p.Metric(b, "process_cpu_seconds_total") + child.CPU(b, server.Pid())
	publish(b, c, records)
	watch(b, c, stored+len(records), func(int) {})
	cpu = p.Metric(b, "process_cpu_seconds_total") + child.CPU(b, server.Pid()) - before
	resident = float64(p.PeakMemory())
	stop(b, p)
	return cpu, resident
}
