// Package hostile publishes malformed, strange and huge records to the built binary on real Kafka and Redis.
// Each must end in the right topic with the right reason, in bounded time and memory, and must not affect the
// records around it. To add a record: records_test.go. It holds tests only.
package hostile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

func TestMain(m *testing.M) { os.Exit(service.Main(m)) }

const (
	largest     = 64 << 20 // largest record batch of the topics with raised limits, in bytes
	maxResident = 1 << 30  // peak memory of the service that decides the 50 MB article, in bytes
	patience    = 5 * time.Minute
)

// stage is the servers and the records of one run. The input topic has one partition: a record that blocks
// the service blocks all records.
type stage struct {
	kafka, redis string
	input        string // its topic; the names of the others and of the groups begin with it
	random       *rand.Rand
	sent         []sent
}

type sent struct {
	record
	in *kgo.Record
}

// newStage is on the shared servers, with names of its own.
func newStage(t *testing.T, seed uint64) *stage {
	t.Helper()
	return &stage{
		kafka: kafkaserver.Shared(t).Addr, redis: redisserver.Addr(t),
		input:  fmt.Sprintf("hostile-%d", time.Now().UnixNano()),
		random: rand.New(rand.NewPCG(seed, 0)),
	}
}

func TestHostileRecords(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newStage(t, seed)
	s.createTopics(t)
	records := append(append(malformed(), odd(s.random)...), lookalikes(s.random)...)
	records = append(records, unique("50 MB of text", text(longText(s.random, 50e6))))
	s.publish(t, records)

	t.Run("raised limits", func(t *testing.T) {
		s.createOutputs(t, "raised", wide)
		p := s.start(t, "raised", service.Settings{
			"kafka.max_message_bytes": strconv.Itoa(largest - 1<<20),
		})
		outs, again := s.watch(t, "raised")
		require.Empty(t, again, "was delivered twice although no process ended")
		require.Less(t, p.peak(t), maxResident)
		require.Greater(t, p.Metric(t, `echosieve_pipeline_event_time_total{case="future"}`), 1.0)
		require.Greater(t, p.Metric(t, `echosieve_pipeline_event_time_total{case="late"}`), 1.0)
		for i, out := range outs {
			s.check(t, s.sent[i], out, s.sent[i].verdict, s.sent[i].reason)
		}
	})
	t.Run("default limits", func(t *testing.T) {
		p := s.start(t, "small", nil)
		outs, again := s.watch(t, "small")
		require.Empty(t, again, "was delivered twice although no process ended")
		large := 0
		for i, out := range outs {
			if len(s.sent[i].value) < 1<<20-4096 {
				s.check(t, s.sent[i], out, s.sent[i].verdict, s.sent[i].reason)
				continue
			}
			large++
			h := ledger.Headers(out)
			require.Equal(t, s.topic("small", "dead"), out.Topic, s.sent[i].name)
			require.Equal(t, "too_large", h[pipeline.HeaderReason], s.sent[i].name)
			if len(s.sent[i].value) > 1<<20 {
				require.Nil(t, out.Value)
				require.Equal(t, strconv.Itoa(len(s.sent[i].value)), h[pipeline.HeaderValueOmitted])
			}
		}
		require.Greater(t, large, 10)
		require.Less(t, p.peak(t), maxResident)
	})
}

// longText returns a text of many different words, in the script that takes longest to segment.
func longText(random *rand.Rand, bytes int) string {
	vocabulary := words(random, 50_000, han)
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteString(vocabulary[random.IntN(len(vocabulary))])
	}
	return b.String()
}

func (s *stage) topic(run, kind string) string { return s.input + "-" + run + "-" + kind }

// Configurations of topics: with raised limits, and with Kafka's. All take timestamps of the future.
var (
	size, far = strconv.Itoa(largest), "9223372036854775807"
	wide      = map[string]*string{"max.message.bytes": &size, "message.timestamp.after.max.ms": &far}
	narrow    = map[string]*string{"message.timestamp.after.max.ms": &far}
)

func (s *stage) createTopics(t *testing.T) {
	t.Helper()
	kafkaserver.CreateTopics(t, kafkaserver.Client(t, s.kafka), 1, wide, s.input)
	s.createOutputs(t, "small", narrow)
}

func (s *stage) createOutputs(t *testing.T, run string, configs map[string]*string) {
	t.Helper()
	kafkaserver.CreateTopics(t, kafkaserver.Client(t, s.kafka), 1, configs, s.outputs(run)...)
}

func (s *stage) outputs(run string) []string {
	return []string{s.topic(run, "unique"), s.topic(run, "duplicate"), s.topic(run, "dead")}
}

// publish publishes the records, each followed by an ordinary article.
func (s *stage) publish(t *testing.T, records []record) {
	t.Helper()
	clients := map[string]*kgo.Client{}
	for _, c := range codecs {
		clients[fmt.Sprint(c.codec)] = kafkaserver.Client(t, s.kafka, kgo.ProducerBatchCompression(c.codec),
			kgo.ProducerBatchMaxBytes(largest-1024), kgo.DefaultProduceTopic(s.input), kgo.ProducerLinger(0))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i, r := range records {
		ordinary := record{name: "ordinary article after " + r.name, verdict: "unique",
			value: text(strings.Join(words(s.random, 60, latin), " "))}
		for _, r := range []record{r, ordinary} {
			in := &kgo.Record{Key: fmt.Append(nil, i), Value: r.value, Headers: r.headers, Timestamp: r.at}
			if in.Timestamp.IsZero() {
				in.Timestamp = time.Now()
			}
			require.NoError(t, clients[fmt.Sprint(r.codec)].ProduceSync(ctx, in).FirstErr(), r.name)
			s.sent = append(s.sent, sent{r, in})
		}
	}
}

type process struct{ *service.Process }

func (s *stage) start(t *testing.T, run string, changes service.Settings) process {
	t.Helper()
	settings := service.Settings{
		"kafka.brokers": s.kafka, "kafka.group": s.input + run, "kafka.topics.input": s.input,
		"kafka.topics.unique": s.topic(run, "unique"), "kafka.topics.duplicate": s.topic(run, "duplicate"),
		"kafka.topics.dead": s.topic(run, "dead"),
		"redis.addrs":       s.redis, "redis.namespace": s.input + run,
	}
	p := process{service.Start(t, settings.With(changes))}
	p.WaitReady(t)
	return p
}

// watch reads the output topics until every record has come out, in the order of the input.
func (s *stage) watch(t *testing.T, run string) (outs []*kgo.Record, again string) {
	t.Helper()
	outs = make([]*kgo.Record, len(s.sent))
	defer func() {
		if missing := slices.Index(outs, nil); missing >= 0 {
			t.Logf("the first record that is missing: %s", s.sent[missing].name)
		}
	}()
	last, read := map[string]int{}, 0
	kafkaserver.Read(t, s.kafka, s.outputs(run), func(all []*kgo.Record) bool {
		for ; read < len(all); read++ {
			r := all[read]
			offset, err := strconv.Atoi(strings.TrimPrefix(ledger.Headers(r)[pipeline.HeaderInput], s.input+"/0/"))
			require.NoError(t, err)
			if outs[offset] != nil {
				again = s.sent[offset].name
				continue
			}
			require.GreaterOrEqual(t, offset, last[r.Topic])
			last[r.Topic], outs[offset] = offset, r
		}
		return !slices.Contains(outs, nil)
	}, kgo.FetchMaxBytes(largest), kgo.FetchMaxPartitionBytes(largest))
	return outs, again
}

// check compares an output with its input.
func (s *stage) check(t *testing.T, in sent, out *kgo.Record, verdict, reason string) {
	t.Helper()
	h := ledger.Headers(out)
	assert.Equal(t, verdict, h[pipeline.HeaderVerdict], "%s: %v", in.name, h)
	if !in.alike || verdict != "unique" {
		assert.Equal(t, reason, h[pipeline.HeaderReason], in.name)
	}
	require.Equal(t, string(in.in.Key), string(out.Key), in.name)
	require.True(t, string(in.value) == string(out.Value) && (in.value == nil) == (out.Value == nil), in.name)
	require.Equal(t, in.in.Timestamp.UnixMilli(), out.Timestamp.UnixMilli(), in.name)
	count := map[string]int{}
	for _, x := range out.Headers {
		require.NotEqual(t, "forged", string(x.Value), in.name)
		count[x.Key]++
	}
	for key, n := range count {
		if strings.HasPrefix(key, "echosieve-") {
			require.Equal(t, 1, n, "%s: %s", in.name, key)
		}
	}
	for _, x := range in.headers {
		if !strings.HasPrefix(x.Key, "echosieve-") {
			require.Positive(t, count[x.Key], in.name)
		}
	}
}

// peak is the peak of the process's resident memory so far, in bytes.
func (p process) peak(t *testing.T) int {
	t.Helper()
	peak := p.PeakMemory()
	require.Positive(t, peak)
	return int(peak)
}

const (
	bombRecords     = 1000
	bombRecordBytes = 100 << 10 // of each record in a batch of bombRecords
	bombBytes       = 300 << 20 // of the single record
	// bombResident bounds the peak memory of a service with default limits. It must hold one whole block of
	// snappy, which cannot be decoded in parts.
	bombResident = 1 << 30
)

// Record batches that are small on the wire and too large for memory lie between ordinary articles. A record
// that is too large by itself becomes a dead letter without its value. All other records are decided as
// usual.
func TestBombs(t *testing.T) {
	s := newStage(t, 5)
	s.createTopics(t)
	many := dead("one of many in a batch", "not_json", strings.Repeat("bomb ", bombRecordBytes/5))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Package wire reads every codec by the same steps. These two differ most: one cannot be decoded in
	// parts, one has a window.
	bombs := []string{"snappy", "zstd"}
	for _, c := range codecs {
		if !slices.Contains(bombs, c.name) {
			continue
		}
		cl := kafkaserver.Client(t, s.kafka, kgo.DefaultProduceTopic(s.input), kgo.ProducerBatchCompression(c.codec),
			kgo.ProducerBatchMaxBytes(1<<29), kgo.BrokerMaxWriteBytes(1<<30), kgo.ProducerLinger(time.Minute))
		send := func(r record, n int) {
			var batch []*kgo.Record
			for range n {
				in := &kgo.Record{Key: []byte(c.name), Value: r.value, Timestamp: time.Now(),
					Headers: []kgo.RecordHeader{{Key: "crawler", Value: []byte("kept")}}}
				r.headers = in.Headers
				batch = append(batch, in)
				s.sent = append(s.sent, sent{r, in})
			}
			results := make(chan error, n)
			for _, in := range batch { // nothing is sent before Flush, so the records become one batch
				cl.Produce(ctx, in, func(_ *kgo.Record, err error) { results <- err })
			}
			require.NoError(t, cl.Flush(ctx))
			for range n {
				require.NoError(t, <-results, c.name)
			}
		}
		ordinary := func() record {
			return unique("ordinary article with "+c.name, text(strings.Join(words(s.random, 60, latin), " ")))
		}
		send(ordinary(), 1)
		send(many, bombRecords)
		send(ordinary(), 1)
		size := bombBytes
		if c.name == "snappy" { // the broker must hold the one block in memory, too
			size /= 3
		}
		send(dead("one far too large", "too_large", strings.Repeat("bomb ", size/5)), 1)
		send(ordinary(), 1)
		cl.Close()
	}

	p := s.start(t, "small", nil)
	start := time.Now()
	outs, again := s.watch(t, "small")
	require.Empty(t, again, "was delivered twice although no process ended")
	t.Logf("%d records in %s, peak %d MiB resident", len(outs), time.Since(start).Round(time.Second), p.peak(t)>>20)
	require.Less(t, p.peak(t), bombResident)
	for i, out := range outs {
		in := s.sent[i]
		if in.reason == "too_large" {
			require.Equal(t, strconv.Itoa(len(in.value)), ledger.Headers(out)[pipeline.HeaderValueOmitted])
			require.Nil(t, out.Value)
			in.value = nil // everything else of the record must be unchanged
		}
		s.check(t, in, out, in.verdict, in.reason)
	}
	require.Equal(t, float64(len(bombs)),
		p.Metric(t, `echosieve_pipeline_records_total{reason="too_large",verdict="dead"}`))
}

const (
	valuePartitions = 12
	valueResident   = 400 << 20 // bounds the peak memory of a service with default limits, in bytes
)

// Values of a few bytes that decompress to megabytes do not end the service, and ordinary articles beside them are
// decided.
func TestCompressedValues(t *testing.T) {
	s := newStage(t, 3)
	client := kafkaserver.Client(t, s.kafka, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(time.Minute))
	send := func(partition int32, n int, value []byte) { // one record batch of equal values
		for range n {
			client.Produce(context.Background(), &kgo.Record{Topic: s.input, Partition: partition, Value: value}, nil)
		}
		require.NoError(t, client.Flush(t.Context()))
	}
	kafkaserver.CreateTopics(t, client, valuePartitions, nil, s.input)
	s.createOutputs(t, "small", nil)
	for i, title := range []int{4 << 20, 1<<20 - 1<<10} { // the first ones are too large
		send(int32(i), 256, []byte(host.Gzip(t, fmt.Sprintf(`{"text":"A text of few words in partition %d","title":%q}`, i,
			strings.Repeat("a", title)))))
	}
	p := s.start(t, "small", nil)
	for i := range int32(valuePartitions) { // behind all that stands there
		send(i, 1, text(fmt.Sprintf("The harbour of town %d was closed on Monday because of a storm from the west.", i)))
	}
	seen, read := 0, 0
	kafkaserver.Read(t, s.kafka, []string{s.topic("small", "unique"), s.topic("small", "duplicate")},
		func(all []*kgo.Record) bool {
			for ; read < len(all); read++ {
				if bytes.Contains(all[read].Value, []byte("harbour")) {
					seen++
				}
			}
			return seen == valuePartitions
		})
	require.Less(t, p.PeakMemory(), int64(valueResident))
}
