package redisindex

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/redisindex/indexid"
	"echosieve/test/redisserver"
)

// BenchmarkMonitor measures one round of the monitor, which each process makes every three seconds: the time of the service, and
// the CPU time of all Redis nodes together.
func BenchmarkMonitor(b *testing.B) {
	for _, kind := range []struct {
		name  string
		start func() (Options, []*redisserver.Server)
	}{
		{"single", func() (Options, []*redisserver.Server) {
			s := redisserver.Start(b)
			o := DefaultOptions()
			o.Addrs = []string{s.Addr}
			return o, []*redisserver.Server{s}
		}},
		{"cluster of 3", func() (Options, []*redisserver.Server) {
			c := redisserver.StartCluster(b, 3, 0)
			return clusterOptions(c), c.Servers
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			options, servers := kind.start()
			w := watch(b, connect(b, options), testConfig(standard))
			w.Recall(nil)
			w.claimNew(b, 10)
			w.waitRound(b)
			w.stop()
			m := newMonitor(w.Index, func(string, string) {})
			before := cpuMicros(b, servers)
			for b.Loop() {
				m.round(b.Context())
			}
			b.ReportMetric(float64(cpuMicros(b, servers)-before)/float64(b.N), "redis-us/op")
		})
	}
}

// cpuMicros is the CPU time that servers have used so far.
func cpuMicros(b *testing.B, servers []*redisserver.Server) int64 {
	b.Helper()
	sum := 0.0
	for _, s := range servers {
		client := redis.NewClient(&redis.Options{Addr: s.Addr})
		info, err := client.Info(b.Context(), "cpu").Result()
		require.NoError(b, err)
		require.NoError(b, client.Close())
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_user" || name == "used_cpu_sys" {
				seconds, err := strconv.ParseFloat(value, 64)
				require.NoError(b, err)
				sum += seconds
			}
		}
	}
	return int64(sum * 1e6)
}

// BenchmarkNoteDrawn measures what a batch pays for the comparison of its tickets.
func BenchmarkNoteDrawn(b *testing.B) {
	l := newWatermarks(indexid.ID{}, keys{prefix: "x:"}, layout{}, false)
	n := uint64(0)
	for b.Loop() {
		l.noteDrawn(l.highest.Load(), n+1, n+256)
		n += 256
	}
	require.False(b, l.fell.Load())
}
