package consumer

import (
	"context"
	"crypto/rand"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// inUse returns the bytes of live memory that this package, package wire and the functions that they call
// have allocated, as the heap profile estimates them. Memory of the broker in this process does not count.
func inUse(t *testing.T) (bytes float64) {
	t.Helper()
	runtime.GC()
	runtime.GC() // the profile shows the memory at the end of the previous collection
	records := make([]runtime.MemProfileRecord, 1<<14)
	n, ok := runtime.MemProfile(records, false)
	require.True(t, ok, "%d records", n)
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if strings.HasPrefix(f.Function, "echosieve/consumer") && !strings.HasSuffix(f.File, "_test.go") {
				size := float64(r.InUseBytes()) / math.Max(float64(r.InUseObjects()), 1)
				bytes += float64(r.InUseBytes()) / (1 - math.Exp(-size/float64(runtime.MemProfileRate)))
				break
			}
		}
	}
	return bytes
}

// produceBacklog fills every partition with a batch of articles that compress well and one article that does
// not compress.
func produceBacklog(t *testing.T, cfg broker.Config, articles, textBytes int) (n int) {
	t.Helper()
	text := []byte("u" + strings.Repeat("article ", textBytes/8))
	noise := make([]byte, 256<<10)
	_, err := rand.Read(noise)
	require.NoError(t, err)
	noise[0] = 'u'
	cl := kafkatest.Client(t, cfg, kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	for p := range int32(cfg.Partitions) {
		recs := make([]*kgo.Record, articles)
		for i := range recs {
			recs[i] = &kgo.Record{Topic: cfg.Topics.Inputs[0], Partition: p, Value: text}
		}
		kafkatest.Produce(t, cl, append(recs, &kgo.Record{Topic: cfg.Topics.Inputs[0], Partition: p, Value: noise})...)
	}
	return cfg.Partitions * (articles + 1)
}

// The index does not answer, so nothing is decided, and every partition has much to read, half of it well compressed.
func TestMemoryIsBoundedWithManyPartitions(t *testing.T) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1 << 14
	defer func() { runtime.MemProfileRate = rate }()
	const partitions, limit, textBytes = 200, 16 << 20, 4096
	k, cfg := kafkatest.Fake(t)
	cfg.Partitions, cfg.MaxInFlightBytes = partitions, limit
	cfg.SessionTimeout = 30 * time.Second
	kafkatest.EnsureTopics(t, cfg)
	n := produceBacklog(t, cfg, 120, textBytes)
	var asked atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		asked.Add(1)
		return nil, nil, false
	})
	away := make(chan struct{})
	m := startMember(t, cfg, &router{decide: func(ctx context.Context, _ []record.Record) error {
		return opened(ctx, away)
	}})
	require.Eventually(t, func() bool { return asked.Load() >= partitions }, kafkatest.Patience, 10*time.Millisecond,
		"every partition has fetched")
	most := 0.0
	// the replies to the fetches are on their way
	for end := time.Now().Add(kafkatest.Patience); most <= 0.5*limit && time.Now().Before(end); {
		most = inUse(t)
	}
	require.Greater(t, most, 0.5*limit, "the limit was reached")
	for range 8 {
		most = max(most, inUse(t))
	}
	t.Logf("%.1f MiB in use, limit %d MiB", most/(1<<20), limit>>20)
	require.Less(t, most, 1.25*limit)
	close(away)
	require.Eventually(t,
		func() bool { return m.value(t, "echosieve_consumer_acknowledged_records_total") == float64(n) },
		kafkatest.Patience, 50*time.Millisecond, "every record is published")
	require.NoError(t, m.health.last())
	m.stop(t)
}

// Each record batch is handed on in many batches, one batch may hold all records in flight, and one
// decompressor takes the whole share. A partition that held records while it waits for its decompressor would
// wait for a partition that has the decompressor and waits for records.
func TestDecompressorsAreWaitedForBeforeRecords(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	const partitions, n = 4, 300
	cfg.Partitions, cfg.BatchRecords, cfg.MaxInFlightRecords, cfg.MaxInFlightBytes = partitions, 10, 10, 2<<20
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg, kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerLinger(100*time.Millisecond))
	kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], "u", n*partitions, partitions)...)
	m := startMember(t, cfg, &router{})
	out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(n*partitions))
	require.Len(t, out, n*partitions)
	m.stop(t)
	_, err := m.work.limiter.TryDecoder(1 << 30)
	require.NoError(t, err, "nothing is held")
}

// Three partitions wait for records at the same time, although one response may take all memory. If a fetch held
// memory while it waits, the second would wait for the first. A record above the whole budget passes.
func TestIdlePartitionsHoldNoMemory(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	cfg.FetchMaxWait, cfg.MaxInFlightBytes = kafkatest.Patience, 4<<10
	kafkatest.EnsureTopics(t, cfg)
	var asked atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	m := startMember(t, cfg, &router{})
	require.Eventually(t, func() bool { return asked.Load() >= 3 }, kafkatest.Patience/2, time.Millisecond,
		"every partition waits for records")
	kafkatest.Produce(t, kafkatest.Client(t, cfg), append(kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 10, 3),
		&kgo.Record{Topic: cfg.Topics.Inputs[0], Value: []byte(strings.Repeat("large", 5000))})...)
	kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(11))
	m.stop(t)
}
