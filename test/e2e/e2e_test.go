// Package e2e tests the built binary as users run it, with real Kafka, real Redis and real articles, while
// processes and servers are stopped, killed and started again. It holds tests only.
package e2e

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
	"echosieve/test/articles"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/otlpreceiver"
	"echosieve/test/promserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

const (
	partitions = 6
	window     = 168 * time.Hour
)

func TestMain(m *testing.M) { os.Exit(service.Main(m)) }

// cluster is the servers, the namespace and the topics of one run.
type cluster struct{ kafka, redis, namespace, topic string }

func (c cluster) settings() service.Settings {
	return service.Settings{
		"kafka.brokers": c.kafka, "kafka.group": c.topic, "kafka.topics.input": c.topic,
		"kafka.topics.unique":    c.topic + "-unique",
		"kafka.topics.duplicate": c.topic + "-duplicate", "kafka.topics.dead": c.topic + "-dead",
		"redis.addrs": c.redis, "redis.namespace": c.namespace, "window": window.String(),
		"input.publisher_labels": "5",
	}
}

func (c cluster) outputs() ledger.Topics {
	return ledger.Topics{Unique: c.topic + "-unique", Duplicate: c.topic + "-duplicate", Dead: c.topic + "-dead"}
}

// stop ends the service with SIGTERM, as an orchestrator does, and returns its CPU time.
func stop(t testing.TB, p *service.Process) time.Duration {
	t.Helper()
	require.Zero(t, p.End(t), "a SIGTERM must end the service with exit code 0")
	return p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
}

// newCluster creates the topics of one run.
func newCluster(t testing.TB, kafka, redis string) cluster {
	t.Helper()
	name := fmt.Sprintf("e2e-%d", time.Now().UnixNano())
	c := cluster{kafka: kafka, redis: redis, namespace: name, topic: name}
	client := kafkaserver.Client(t, kafka)
	kafkaserver.CreateTopics(t, client, partitions, nil, name, name+"-unique", name+"-duplicate", name+"-dead")
	kafkaserver.CreateTopics(t, client, 1, kafkaserver.Learnt(), name+"-learnt")
	return c
}

// publish publishes the records and returns them by their coordinates.
func publish(t testing.TB, c cluster, records []*kgo.Record) map[string]*kgo.Record {
	t.Helper()
	producer := kafkaserver.Client(t, c.kafka, kgo.DefaultProduceTopic(c.topic),
		kgo.ProducerBatchMaxBytes(articles.MaxMessageBytes))
	require.NoError(t, producer.ProduceSync(t.Context(), records...).FirstErr())
	return ledger.ByCoordinates(records)
}

// watch reads the output topics until so many input records have an output.
func watch(t testing.TB, c cluster, want int, progress func(sources int)) []*kgo.Record {
	t.Helper()
	sources, read := map[string]bool{}, 0
	topics := []string{c.topic + "-unique", c.topic + "-duplicate", c.topic + "-dead"}
	return kafkaserver.Read(t, c.kafka, topics, func(all []*kgo.Record) bool {
		for ; read < len(all); read++ {
			sources[ledger.Headers(all[read])[pipeline.HeaderInput]] = true
		}
		progress(len(sources))
		return len(sources) >= want
	})
}

// written returns at least n records that package articles writes, with a null header and a forged one of Echosieve,
// and the writer, which knows what must come of them.
func written(t testing.TB, n int) (*articles.Writer, []*kgo.Record) {
	t.Helper()
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	w := articles.NewWriter(1, "e2e", made, true)
	var records []*kgo.Record
	for len(records) < n {
		records = append(records, w.Write()...)
	}
	for _, r := range records {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "null"},
			kgo.RecordHeader{Key: pipeline.HeaderVerdict, Value: []byte("forged")})
	}
	return w, records
}

// fresh returns copies of the records, because publishing writes topic and offset into a record.
func fresh(records []*kgo.Record) []*kgo.Record {
	copies := make([]*kgo.Record, len(records))
	for i, r := range records {
		c := *r
		copies[i] = &c
	}
	return copies
}

func TestEveryRecordGetsItsVerdict(t *testing.T) {
	writer, records := written(t, 3000)
	for _, version := range []string{kafkaserver.V4, kafkaserver.V3} {
		t.Run("kafka "+version, func(t *testing.T) {
			broker := kafkaserver.Shared
			if version != kafkaserver.V4 {
				host.All(t)
				broker = func(t testing.TB) *kafkaserver.Server { return kafkaserver.Start(t, version) }
			}
			c := newCluster(t, broker(t).Addr, redisserver.Addr(t))
			settings := c.settings().With(service.Settings{"output.verdict": "value"})
			stays, leaves := service.Start(t, settings), service.Start(t, settings)
			stays.WaitReady(t)
			leaves.WaitReady(t)
			stories := storiesOf(t, c, c.settings())
			prometheus := promserver.Start(t, stays.HTTP, stories.HTTP)
			// one scrape before the first record, for the rates
			prometheus.CheckQueries(t, []string{"echosieve_build_info"})

			copies := fresh(records)
			half := len(copies) / 2
			inputs := publish(t, c, copies[:half])
			state := 0
			outputs := watch(t, c, len(copies), func(sources int) {
				switch {
				case state == 0 && sources > half/2:
					stop(t, leaves)
					for at, r := range publish(t, c, copies[half:]) {
						inputs[at] = r
					}
					state = 1
				case state == 1 && sources > half+half/2:
					leaves = service.Start(t, settings)
					state = 2
				}
			})
			require.Equal(t, 2, state, "one process was stopped and started")
			prometheus.CheckQueries(t, promserver.Queries(t))
			leaves.WaitReady(t)
			stop(t, leaves)
			stop(t, stories)
			cpu := stop(t, stays)

			found := articles.Judge(ledger.Run{Inputs: inputs, Outputs: outputs, Partitions: partitions, Member: "echosieve",
				Topics: c.outputs()}, writer)
			require.Empty(t, found.Violations)
			require.Greater(t, found.Links, 20, "too few of the articles are copies")
			t.Logf("%d records, %d outputs (%d redelivered); "+
				"%.0f us CPU per record in the process that stayed",
				len(inputs), len(outputs), len(outputs)-len(inputs),
				float64(cpu.Microseconds())/float64(len(inputs)))
		})
	}
}

// SIGHUP makes the running program read its file again. The program needs no servers for that.
func TestHangupReloads(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "echosieve.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("log: {level: info}\n")
	p := service.Start(t, service.Settings{"kafka.brokers": "127.0.0.1:1", "redis.addrs": "127.0.0.1:1",
		"config": file})
	p.Await(t, "/healthz", "200")
	require.NotContains(t, p.Log(), "level=DEBUG")

	write("log: {level: debug}\n")
	require.NoError(t, p.Cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return strings.Contains(p.Log(), "level=DEBUG") }, service.Patience,
		50*time.Millisecond, "retries are logged at level debug")
	require.Contains(t, p.Log(), "changed=[log.level]")
	require.Zero(t, p.End(t))
}

// Each batch is one trace with a span for each stage. It has a link to each span that its records name, and
// each output names it. The records' own traceparent passes unchanged.
func TestTraceOfABatch(t *testing.T) {
	receiver := otlpreceiver.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
	p := service.Start(t, c.settings()).WaitReady(t)
	_, records := written(t, 400)
	parents := 0
	for i, r := range records {
		if r.Key == nil || i%4 == 0 {
			continue
		}
		parents++
		parent := fmt.Sprintf("00-%032x-%016x-01", 1+i, 1+i)
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "traceparent", Value: []byte(parent)})
	}
	require.Positive(t, parents)
	inputs := publish(t, c, records)
	outputs := watch(t, c, len(records), func(int) {})
	require.Zero(t, p.End(t), "the service sends the last spans when it stops")

	spans, linked := map[string]*tracepb.Span{}, map[string]string{} // identity of a producer's span -> batch
	for _, span := range receiver.Spans() {
		id := identity(span.GetTraceId(), span.GetSpanId())
		spans[id] = span
		for _, l := range span.GetLinks() {
			linked[identity(l.GetTraceId(), l.GetSpanId())] = id
		}
	}
	stages := map[string]int{} // "stage of its parent"
	for _, span := range spans {
		name, _, _ := strings.Cut(span.GetName(), " ") // the topic follows
		if parent := span.GetParentSpanId(); len(parent) > 0 {
			require.Contains(t, spans, identity(span.GetTraceId(), parent), "the parent of %s", name)
			name += " of " + spans[identity(span.GetTraceId(), parent)].GetName()
		}
		stages[name]++
	}
	for _, want := range []string{"prepare of batch", "claim of batch", "publish of batch", "store_entries of claim",
		"draw_tickets of claim", "publish of publish"} {
		require.Positive(t, stages[want], "%s in %v", want, stages)
	}
	require.Equal(t, stages["batch"], stages["claim of batch"])
	for _, out := range outputs {
		h := ledger.Headers(out)
		ours := strings.TrimSuffix(strings.TrimPrefix(h[pipeline.HeaderTraceparent], "00-"), "-01")
		require.Equal(t, "batch", spans[ours].GetName(), "a record names a span that no batch has: %v", h)
		parent := ledger.Headers(inputs[h[pipeline.HeaderInput]])["traceparent"]
		require.Equal(t, parent, h["traceparent"])
		if parent != "" {
			require.Equal(t, ours, linked[strings.TrimSuffix(strings.TrimPrefix(parent, "00-"), "-01")])
		}
	}
	require.Len(t, linked, parents)
}

func identity(trace, span []byte) string {
	return hex.EncodeToString(trace) + "-" + hex.EncodeToString(span)
}
