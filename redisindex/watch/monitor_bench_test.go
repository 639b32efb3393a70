package watch_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/redisindex/connection"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// BenchmarkMonitor measures one round of the monitor, which each process makes every three seconds: the time of the service, and
// the CPU time of all Redis nodes together.
func BenchmarkMonitor(b *testing.B) {
	for _, kind := range []struct {
		name  string
		start func() (connection.Options, []*redisserver.Server)
	}{
		{"single", func() (connection.Options, []*redisserver.Server) {
			s := redisserver.Start(b)
			o := connection.DefaultOptions()
			o.Addrs = []string{s.Addr}
			return o, []*redisserver.Server{s}
		}},
		{"cluster of 3", func() (connection.Options, []*redisserver.Server) {
			c := redisserver.StartCluster(b, 3, 0)
			return redisrig.ClusterOptions(c), c.Servers
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			options, servers := kind.start()
			w := startWatched(b, redisrig.Connect(b, options), redisrig.Config(redisrig.Standard))
			w.Recall(nil)
			w.claimNew(b, 10)
			w.waitRound(b)
			w.stop()
			m := w.Round()
			before := cpuMicros(b, servers)
			for b.Loop() {
				m(b.Context())
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
