package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/indextest"
	"echosieve/simhash"
	"echosieve/test/child"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// benchParams are the parameters of the recipe news.
var benchParams = indextest.Params{Window: 48 * time.Hour, Generations: 2, MaxDistance: 21, LoneDistance: 12, Blocks: 3, Probes: 4}

// BenchmarkClaim stores b.N articles (uniform fingerprints, ids of 30 bytes) in one slice, or spread over one window. It reports the
// time, the CPU time of client and server, and the memory of the entry and of the fingerprints in block lists, for each article:
//
//	go test ./redisindex -run NONE -bench Claim -benchtime 1000000x
func BenchmarkClaim(b *testing.B) {
	for _, span := range []struct {
		name string
		span time.Duration
	}{{"OneSlice", time.Hour}, {"OneWindow", 48 * time.Hour}} {
		b.Run(span.name, func(b *testing.B) {
			server := redisserver.Start(b, "--hash-max-listpack-value", "1024")
			client := redisrig.Client(b, server.Addr)
			cfg := redisrig.Config(benchParams)
			cfg.Namespace, cfg.Window = "echosieve:news-1-0123abcd", 48*time.Hour
			x := newIndex(b, client, cfg)
			r := rand.New(rand.NewPCG(1, 2))
			const claim = 128
			claims := make([]article.Article, 0, claim)
			cpu, serverCPU := clientSeconds(), child.CPU(b, server.Pid())
			b.ResetTimer()
			start := time.UnixMilli(int64(20_000 * 24 * time.Hour / time.Millisecond))
			for n := 0; n < b.N; n += claim {
				claims = claims[:0]
				for i := n; i < min(n+claim, b.N); i++ {
					claims = append(claims, random(r, i, start.Add(span.span*time.Duration(i)/time.Duration(b.N))))
				}
				_, err := x.Claim(context.Background(), claims)
				require.NoError(b, err)
			}
			b.StopTimer()
			per := func(v float64) float64 { return v / float64(b.N) }
			b.ReportMetric(per((clientSeconds()-cpu)*1e6), "client-us/op")
			b.ReportMetric(per((child.CPU(b, server.Pid())-serverCPU)*1e6), "server-us/op")
			full := usedMemory(b, client)
			deleteKeys(b, client, x.keys.Prefix+"o:")
			withoutEntries := usedMemory(b, client)
			deleteKeys(b, client, x.keys.Prefix+"b:")
			rest := usedMemory(b, client)
			b.ReportMetric(per(full-withoutEntries), "entry-B/op")
			b.ReportMetric(per(withoutEntries-rest), "lists-B/op")
		})
	}
}

func random(r *rand.Rand, n int, at time.Time) article.Article {
	c := article.Article{
		Coordinates: article.Coordinates{Topic: "articles", Partition: int32(n % 6), Offset: int64(1_000_000 + n/6)},
		ID:          fmt.Sprintf("source-%023d", n), Time: at, Fingerprint: simhash.Fingerprint(r.Uint64()),
	}
	binary.BigEndian.PutUint64(c.Digest[:], r.Uint64())
	binary.BigEndian.PutUint64(c.Digest[8:], r.Uint64())
	c.Sums = new(simhash.Sums)
	for bit := range c.Sums {
		c.Sums[bit] = r.NormFloat64()
	}
	for range 4 {
		c.Anchors = append(c.Anchors, r.Uint64())
	}
	c.Signature = make([]byte, evidence.Size)
	for i := range c.Signature {
		c.Signature[i] = byte(r.Uint32())
	}
	return c
}

// deleteKeys deletes all keys with a prefix.
func deleteKeys(b *testing.B, client redis.UniversalClient, prefix string) {
	ctx := context.Background()
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, prefix+"*", 10_000).Result()
		require.NoError(b, err)
		if len(keys) > 0 {
			require.NoError(b, client.Del(ctx, keys...).Err())
		}
		if cursor = next; cursor == 0 {
			return
		}
	}
}

func usedMemory(b testing.TB, client redis.UniversalClient) float64 {
	return infoNumber(b, client, "memory", "used_memory")
}

func infoNumber(b testing.TB, client redis.UniversalClient, section, name string) float64 {
	info := client.Info(context.Background(), section).Val()
	_, rest, _ := strings.Cut(info, name+":")
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 64)
	require.NoError(b, err)
	return n
}

func clientSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
