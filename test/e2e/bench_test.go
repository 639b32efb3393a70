package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
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
	"echosieve/pipeline/segment"
	"echosieve/redisindex/connection"
	"echosieve/sample"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// spent is what a service and Redis took.
type spent struct {
	service, redis float64 // CPU seconds
	resident       float64 // peak of the service's memory, in bytes
}

// served publishes records to a new service and waits for their verdicts. It puts ECHOSIEVE_TEST_STORED other articles
// into the index first; the default is 0.
func served(b *testing.B, c cluster, server *redisserver.Server, settings service.Settings,
	records []*kgo.Record) (s spent) {
	stored, _ := strconv.Atoi(os.Getenv("ECHOSIEVE_TEST_STORED"))
	p := service.Start(b, settings)
	p.WaitReady(b)
	publish(b, c, others(records, stored))
	watch(b, c, stored, func(int) {})
	cpu, redis := p.Metric(b, "process_cpu_seconds_total"), cpuOf(b, server.Pid())
	publish(b, c, fresh(records))
	watch(b, c, stored+len(records), func(int) {})
	s.service, s.redis = p.Metric(b, "process_cpu_seconds_total")-cpu, cpuOf(b, server.Pid())-redis
	s.resident = float64(p.PeakMemory())
	stop(b, p)
	return s
}

func startRedis(b *testing.B) *redisserver.Server {
	return redisserver.Start(b, "--hash-max-listpack-value", strconv.Itoa(connection.ListpackBytes))
}

// BenchmarkService measures the CPU time that one service process takes for a record, with real Kafka and
// real Redis, and its resident memory. For comparison it measures a bare gojieba Cut of the same texts in the
// same run:
//
//	ECHOSIEVE_TEST_STORED=100000 go test ./test/e2e -run NONE -bench Service -benchtime 3x
func BenchmarkService(b *testing.B) {
	records := sampled(b)
	jieba, err := segment.NewGojieba(nil)
	require.NoError(b, err)
	decode := decode.DefaultConfig()
	var texts []string
	for _, r := range records {
		if doc, reject := decode.Decode(&record.Record{Value: r.Value}); reject == nil {
			texts = append(texts, doc.Text)
		}
	}
	kafka, server := kafkaserver.Shared(b).Addr, startRedis(b)
	var cpu, cut, resident float64
	for b.Loop() {
		c := newCluster(b, kafka, server.Addr)
		s := served(b, c, server, c.settings(), records)
		cpu, resident = cpu+s.service, max(resident, s.resident)
		start := ownCPU(b)
		for _, text := range texts {
			jieba.Cut(nil, text)
		}
		cut += (ownCPU(b) - start).Seconds()
	}
	n := float64(b.N * len(records))
	b.ReportMetric(cpu/n*1e6, "service-us/record")
	b.ReportMetric(cut/n*1e6, "cut-us/record")
	b.ReportMetric(cpu/cut, "service/cut")
	b.ReportMetric(resident/(1<<20), "MiB-resident")
	b.ReportMetric(0, "ns/op") // the wall-clock time depends on batches and waits
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

// others returns n records of words that no other record has, with timestamps spread over those of the given records.
func others(records []*kgo.Record, n int) []*kgo.Record {
	r := rand.New(rand.NewPCG(1, 2))
	made := make([]*kgo.Record, n)
	for i := range made {
		value := fmt.Appendf(nil, `{"id":"other-%d","text":%q}`, i, unrelated(r, strings.Repeat("abcdefgh ", 30)))
		made[i] = &kgo.Record{Value: value, Timestamp: records[r.IntN(len(records))].Timestamp}
	}
	return made
}

// cpuOf is the CPU time that a running process has used so far, in seconds, to 10 ms. It needs Linux.
func cpuOf(t testing.TB, pid int) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, err := strconv.ParseFloat(string(fields[11]), 64)
	require.NoError(t, err)
	system, err := strconv.ParseFloat(string(fields[12]), 64)
	require.NoError(t, err)
	return (user + system) / 100
}

func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// wantArticles is the fewest articles of a run.
const wantArticles = 3000

// sampled repeats the sample in rounds. All texts of one story (zh-metro, zh-metro-src) get the same 60
// additional words in a round, so they stay copies of each other and are no copies of other rounds and stories.
func sampled(t testing.TB) []*kgo.Record {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	var records []*kgo.Record
	for round := 0; len(records) < wantArticles; round++ {
		for line := range bytes.Lines(sample.News) {
			var a map[string]any
			if json.Unmarshal(line, &a) != nil {
				continue
			}
			id, hasID := a["id"].(string)
			text, hasText := a["text"].(string)
			if !hasID || !hasText {
				continue
			}
			parts := strings.SplitN(id, "-", 3)
			story := fmt.Sprintf("%s-%d", strings.Join(parts[:2], "-"), round)
			key := fmt.Sprintf("%s-%d", id, round)
			a["id"], a["text"] = key, text+wordsOf(story)
			value, err := json.Marshal(a)
			require.NoError(t, err)
			if parts[0] == "zh" {
				key = story
			}
			records = append(records, &kgo.Record{
				Key: []byte(key), Value: value, Timestamp: start.Add(time.Duration(len(records)) * time.Minute),
			})
		}
	}
	return records
}

// wordsOf returns 60 words that no other story has.
func wordsOf(story string) string {
	r := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(story))))
	var words strings.Builder
	for range 60 {
		fmt.Fprintf(&words, " w%x", r.Uint32())
	}
	return words.String()
}
