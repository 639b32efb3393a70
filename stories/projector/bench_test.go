package projector

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/record"
	"echosieve/sample"
	"echosieve/test/redisrig"
)

// BenchmarkProjector measures what a record of the outputs costs, without Kafka. Three in ten are copies: each story
// has three of them, in batches of 256 records.
func BenchmarkProjector(b *testing.B) {
	client := redisrig.Client(b, redisrig.Own(b))
	p := newProjector(b, client, "bench")
	p.Decode.FindPublished = true
	feed := sample.NewFeed("bench", 0, 1)
	records, copies := make([]record.Record, b.N), 0
	for i := range records {
		_, value := feed.Next()
		verdict := "unique"
		if i%10 < 3 {
			verdict, copies = "near", copies+1
		}
		records[i] = output(0, int64(i), 1_000_000+int64(i)/10, verdict)
		records[i].Value = value
	}
	serverBefore, before := redisCPU(b, client), cpu()
	b.ResetTimer()
	for from := 0; from < b.N; from += 256 {
		batch, _ := p.Prepare(b.Context(), records[from:min(b.N, from+256)])
		_, err := p.Decide(b.Context(), batch)
		require.NoError(b, err)
		again, err := p.Outdated(b.Context(), batch)
		require.NoError(b, err)
		require.Empty(b, again)
	}
	b.StopTimer()
	b.ReportMetric((cpu()-before)/float64(b.N)*1e6, "cpu-us/record")
	if copies > 0 {
		b.ReportMetric((redisCPU(b, client)-serverBefore)/float64(copies)*1e6, "redis-us/copy")
		key := client.Keys(b.Context(), "bench:t:*:in/0/1000000").Val()
		if len(key) == 1 {
			b.ReportMetric(float64(client.MemoryUsage(b.Context(), key[0]).Val()), "bytes/story")
		}
	}
}

// cpu is the time of this process on a processor, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// redisCPU is that of Redis; 0 if the server does not tell.
func redisCPU(b *testing.B, client redis.UniversalClient) (seconds float64) {
	b.Helper()
	info := client.Info(b.Context(), "cpu").Val()
	for line := range strings.Lines(info) {
		for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
			if text, found := strings.CutPrefix(strings.TrimSpace(line), name); found {
				n, err := strconv.ParseFloat(text, 64)
				require.NoError(b, err)
				seconds += n
			}
		}
	}
	return seconds
}
