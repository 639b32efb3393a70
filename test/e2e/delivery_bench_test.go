package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// deliveries are what BenchmarkDelivery compares.
var deliveries = []string{"exactly_once", "at_least_once"}

// BenchmarkDelivery compares what exactly once costs with at least once, on real Kafka and Redis, by turns:
// CPU time of the service for a record, delay from a record's timestamp until a reader has its verdict, and
// the longest pause of each of 12 partitions while three processes are stopped and started one after another.
// It also reports which share of the take-overs is done within 100 and 300 ms.
//
//	go test ./test/e2e -run NONE -bench Delivery -benchtime 5x
//
// Figures are medians of the runs; those that end in "/at-least" are medians of the ratios, or of the
// difference, of two runs side by side.
func BenchmarkDelivery(b *testing.B) {
	const rate = 150
	kafka, redis := kafkaserver.Shared(b).Addr, redisserver.Addr(b)
	records := articles(b)
	figures := map[string][]float64{}
	var takeOvers, within100, within300 float64
	for round := 0; b.Loop(); round++ {
		var cpu, p50, p99, pause [2]float64
		for turn := range deliveries {
			i := (turn + round) % 2 // each goes first by turns
			delivery := deliveries[i]
			c := wideCluster(b, kafka, redis)
			settings := c.settings().With(service.Settings{"kafka.delivery": delivery})
			one := service.Start(b, settings)
			one.WaitReady(b)
			flow(b, c, records[:3*rate], rate) // connections open, memory grows
			before := one.Metric(b, "process_cpu_seconds_total")
			seen := flow(b, c, records[:10*rate], rate)
			cpu[i] = (one.Metric(b, "process_cpu_seconds_total") - before) / float64(len(seen)) * 1e6
			p50[i], p99[i] = quantile(delays(seen), .5), quantile(delays(seen), .99)

			processes := []*service.Process{one, service.Start(b, settings), service.Start(b, settings)}
			for _, p := range processes {
				p.WaitReady(b)
			}
			seen = flow(b, c, records[:20*rate], rate, func() {
				for i, p := range processes {
					if delivery == "exactly_once" {
						// A take-over between two of these readings counts as slow.
						within100 += p.Metric(b, `echosieve_consumer_takeover_seconds_bucket{le="0.1"}`)
						within300 += p.Metric(b, `echosieve_consumer_takeover_seconds_bucket{le="0.3"}`)
						takeOvers += p.Metric(b, "echosieve_consumer_takeover_seconds_count")
					}
					stop(b, p)
					processes[i] = service.Start(b, settings)
					processes[i].WaitReady(b)
				}
			})
			pause[i] = quantile(pauses(seen), .5)
			for _, p := range processes {
				stop(b, p)
			}
		}
		for name, value := range map[string]float64{
			"cpu-us/record": cpu[0], "cpu/at-least": cpu[0] / cpu[1], "delay-p50-ms": p50[0],
			"delay-p50/at-least": p50[0] / p50[1],
			"delay-p99-ms":       p99[0], "delay-p99/at-least": p99[0] / p99[1], "pause-ms": pause[0],
			"pause-ms-more-than/at-least": pause[0] - pause[1],
		} {
			figures[name] = append(figures[name], value)
		}
		b.Logf("exactly once, at least once: CPU %.0f us, delay p50 %.1f ms, p99 %.1f ms, pause %.0f ms", cpu, p50,
			p99, pause)
	}
	for name, values := range figures {
		b.ReportMetric(quantile(values, .5), name)
	}
	b.ReportMetric(within100/takeOvers, "takeovers-within-100ms")
	b.ReportMetric(within300/takeOvers, "takeovers-within-300ms")
	b.ReportMetric(takeOvers, "takeovers")
	b.ReportMetric(0, "ns/op")
}

// wideCluster is newCluster with 12 input partitions.
func wideCluster(t testing.TB, kafka, redis string) cluster {
	t.Helper()
	c := newCluster(t, kafka, redis)
	wide := c.topic + "-wide"
	kafkaserver.CreateTopics(t, client(t, kgo.SeedBrokers(kafka)), 12, nil, wide, wide+"-unique", wide+"-duplicate",
		wide+"-dead")
	c.topic = wide
	return c
}

// arrival is when a verdict could be read.
type arrival struct {
	partition string // of the input record
	at        time.Time
	delay     time.Duration // since the record's timestamp
}

// flow publishes the records at so many a second, over all partitions by turns and with the time as their
// timestamps, and returns when their verdicts arrived. Meanwhile it calls the functions.
func flow(t testing.TB, c cluster, records []*kgo.Record, rate int, meanwhile ...func()) []arrival {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	producer := client(t, kgo.SeedBrokers(c.kafka), kgo.DefaultProduceTopic(c.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	reader := client(t, kgo.SeedBrokers(c.kafka), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
		kgo.FetchMaxWait(50*time.Millisecond),
		kgo.ConsumeTopics(c.topic+"-unique", c.topic+"-duplicate", c.topic+"-dead"))
	read := make(chan []arrival, 1)
	go func() {
		var seen []arrival
		for len(seen) < len(records) && ctx.Err() == nil {
			fetches := reader.PollFetches(ctx)
			now := time.Now()
			fetches.EachRecord(func(r *kgo.Record) {
				at := ledger.Headers(r)[pipeline.HeaderInput]
				seen = append(seen, arrival{partition: at[:strings.LastIndexByte(at, '/')], at: now,
					delay: now.Sub(r.Timestamp)})
			})
		}
		read <- seen
	}()
	// until the reader stands at the ends; an earlier verdict would be missed, and reported below
	time.Sleep(time.Second)
	var others sync.WaitGroup
	for _, f := range meanwhile {
		others.Go(f)
	}
	began := time.Now()
	for i, r := range fresh(records) {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		r.Partition, r.Timestamp = int32(i%12), time.Now()
		producer.Produce(ctx, r, nil)
	}
	require.NoError(t, producer.Flush(ctx))
	others.Wait()
	seen := <-read
	require.GreaterOrEqual(t, len(seen), len(records), "verdicts are missing")
	return seen
}

// delays are in milliseconds.
func delays(seen []arrival) []float64 {
	ms := make([]float64, len(seen))
	for i, a := range seen {
		ms[i] = a.delay.Seconds() * 1000
	}
	return ms
}

// pauses returns the longest time between two verdicts of each partition, in milliseconds.
func pauses(seen []arrival) []float64 {
	last, longest := map[string]time.Time{}, map[string]float64{}
	for _, a := range seen {
		if before, known := last[a.partition]; known {
			longest[a.partition] = max(longest[a.partition], a.at.Sub(before).Seconds()*1000)
		}
		last[a.partition] = a.at
	}
	var ms []float64
	for _, pause := range longest {
		ms = append(ms, pause)
	}
	return ms
}

// quantile sorts the values.
func quantile(values []float64, q float64) float64 {
	slices.Sort(values)
	return values[int(q*float64(len(values)-1)+.5)]
}
