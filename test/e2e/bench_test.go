package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/cmd/echosieve-lab/gojieba"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/redisindex/connection"
	"echosieve/sample"
	"echosieve/stories"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
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
	p := service.Start(b, settings).WaitReady(b)
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
	jieba, err := gojieba.New(nil)
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
		cut += host.CPU(b, 0, func() {
			for _, text := range texts {
				jieba.Cut(nil, text)
			}
		}).Seconds()
	}
	n := float64(b.N * len(records))
	b.ReportMetric(cpu/n*1e6, "service-us/record")
	b.ReportMetric(cut/n*1e6, "cut-us/record")
	b.ReportMetric(cpu/cut, "service/cut")
	b.ReportMetric(resident/(1<<20), "MiB-resident")
	b.ReportMetric(0, "ns/op") // the wall-clock time depends on batches and waits
}

// others returns n records of words that no other record has, with timestamps spread over those of the given records.
func others(records []*kgo.Record, n int) []*kgo.Record {
	r := rand.New(rand.NewPCG(1, 2))
	made := make([]*kgo.Record, n)
	for i := range made {
		value := fmt.Appendf(nil, `{"id":"other-%d","text":%q}`, i, wordsOf(fmt.Sprint("other-", i))[:270])
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
	for b.Loop() {
		c := newCluster(b, kafka, server.Addr)
		product := service.Start(b, c.settings()).WaitReady(b)
		publish(b, c, families(n))
		copies := 0
		for _, o := range watch(b, c, n, func(int) {}) {
			if v := ledger.Headers(o)[pipeline.HeaderVerdict]; v == "exact" || v == "near" {
				copies++
			}
		}
		stop(b, product)

		keys := func() int64 { return server.Client.DBSize(b.Context()).Val() }
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
		for read("copy") < float64(copies) || read("none")+read("related") < float64(n-copies) {
			time.Sleep(200 * time.Millisecond)
		}
		b.ReportMetric((float64(copies)-first)/time.Since(began).Seconds(), "copies/s")
		require.Eventually(b, func() bool { // the last records are counted before their stories are published
			told := 0
			for _, s := range lastStories(b, c) {
				told += s.Copies
			}
			return told == copies
		}, service.Patience, 200*time.Millisecond)
		cpu = p.Metric(b, "process_cpu_seconds_total") - cpu
		b.ReportMetric(cpu/n*1e6, "us/record")
		b.ReportMetric((cpuOf(b, server.Pid())-before)/float64(copies)*1e6, "redis-us/copy")
		b.ReportMetric(bytesOfStories(b, server.Client, c, 3), "bytes/story-of-3")
		stop(b, p)
	}
	b.ReportMetric(0, "ns/op")
}

// lastStories returns the stories of the topic that storiesOf writes.
func lastStories(t testing.TB, c cluster) map[string]stories.Record {
	t.Helper()
	last, err := ledger.LastStories(t.Context(), []string{c.kafka}, c.topic+"-stories")
	require.NoError(t, err)
	return last
}

// bytesOfStories returns the mean memory of the states of stories with so many copies.
func bytesOfStories(b *testing.B, index *redis.Client, c cluster, copies int) float64 {
	b.Helper()
	last, bytes, found := lastStories(b, c), int64(0), 0
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
