package redisindex

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/connection"
	"echosieve/test/child"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// benchParams are the parameters of the recipe news.
var benchParams = indextest.Params{Window: 48 * time.Hour, Generations: 2, MaxDistance: 21, LoneDistance: 12,
	Blocks: 3, Probes: 4}

// BenchmarkServers claims b.N articles (uniform fingerprints) in claims of 128 on different set-ups. It
// reports the CPU time of the client, of all masters together, and of the busiest master, for each article.
// The busiest master limits what a set-up can process, so its time is what more masters must lower. Replicas
// do their work beside it.
//
//	go test ./redisindex -run NONE -bench Servers -benchtime 40000x -count 5
func BenchmarkServers(b *testing.B) {
	for _, setup := range []struct {
		name                    string
		masters, replicas, wait int
	}{{"Single", 0, 0, 0}, {"Masters=1", 1, 0, 0}, {"Masters=3", 3, 0, 0}, {"Masters=3,Replicas=3", 3, 1, 0},
		{"Masters=3,Replicas=3,Wait", 3, 1, 1}} {
		b.Run(setup.name, func(b *testing.B) {
			settings := []string{"--hash-max-listpack-value", "1024"}
			o := connection.DefaultOptions()
			var masters []*redisserver.Server
			if setup.masters == 0 {
				masters = append(masters, redisserver.Start(b, settings...))
				o.Addrs = []string{masters[0].Addr}
			} else {
				cluster := redisserver.StartCluster(b, setup.masters, setup.replicas, settings...)
				masters = cluster.Servers[:setup.masters]
				o = redisrig.ClusterOptions(cluster)
				o.WaitReplicas = setup.wait
			}
			x := newIndex(b, redisrig.Connect(b, o), redisrig.Config(benchParams))
			r := rand.New(rand.NewPCG(1, 2))
			claim := func(from, to int) {
				claims := make([]article.Article, 0, 128)
				for n := from; n < to; n++ {
					claims = append(claims, random(r, n, time.UnixMilli(1_700_000_000_000)))
				}
				_, err := x.Claim(context.Background(), claims)
				require.NoError(b, err)
			}
			claim(0, 128) // connections, scripts
			before := make([]float64, len(masters))
			for i, s := range masters {
				before[i] = child.CPU(b, s.Pid())
			}
			cpu := clientSeconds()
			b.ResetTimer()
			for n := 0; n < b.N; n += 128 {
				claim(128+n, 128+min(n+128, b.N))
			}
			b.StopTimer()
			per := func(seconds float64) float64 { return seconds * 1e6 / float64(b.N) }
			b.ReportMetric(per(clientSeconds()-cpu), "client-us/op")
			var all, busiest float64
			for i, s := range masters {
				used := child.CPU(b, s.Pid()) - before[i]
				all += used
				busiest = max(busiest, used)
			}
			b.ReportMetric(per(all), "masters-us/op")
			b.ReportMetric(per(busiest), "busiest-us/op")
		})
	}
}

func clientSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
