package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
	"echosieve/test/redisserver"
)

// BenchmarkOrdinaryGaps measures how many candidates lack their entries although nothing was deleted: four
// workers claim articles, half of which resemble earlier ones, and are cut off now and then, some for ever.
// It takes b.N seconds; windows are of one minute:
//
//	go test ./redisindex/watch -run NONE -bench OrdinaryGaps -benchtime 240x
//
// gaps/M are the gaps that count, per million candidates; expired/M those of slices whose entries may have expired.
func BenchmarkOrdinaryGaps(b *testing.B) {
	for _, buckets := range []string{keyspace.BucketsPacked, keyspace.BucketsSets} {
		for _, generations := range []int{1, 3} {
			b.Run(fmt.Sprint(buckets, " ", generations), func(b *testing.B) {
				cfg := redisrig.KindConfig(redisrig.Standard, buckets)
				cfg.Window, cfg.Generations, cfg.ExpectedArticles = time.Minute, generations, 20_000
				x := indexrig.New(b, redisrig.Client(b, redisserver.Start(b).Addr), cfg)
				var wg sync.WaitGroup
				for worker := range 4 {
					wg.Go(func() { streamWithCuts(b, x, int32(worker), time.Duration(b.N)*time.Second) })
				}
				wg.Wait()
				read, missing, expired := x.Losses().Gaps()
				b.ReportMetric(1e6*float64(missing)/float64(max(1, read)), "gaps/M")
				b.ReportMetric(float64(read), "candidates")
				b.ReportMetric(1e6*float64(expired)/float64(max(1, read)), "expired/M")
			})
		}
	}
}

// streamWithCuts claims articles of now for some time. A claim in fifty is cut off, and claimed again unless
// its records were skipped.
func streamWithCuts(b *testing.B, x *redisindex.Index, partition int32, d time.Duration) {
	r := rand.New(rand.NewPCG(uint64(partition), 1))
	var known []simhash.Fingerprint
	offset := int64(0)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		claim := make([]article.Article, 16)
		for i := range claim {
			fp := simhash.Fingerprint(r.Uint64())
			switch n := r.IntN(10); {
			case n < 4 && len(known) > 0:
				fp = known[r.IntN(len(known))] ^ 1<<r.IntN(64)
			case n == 4: // a template that comes again and again, in all partitions
				fp = simhash.Fingerprint(r.IntN(50))*0x9E3779B97F4A7C15 ^ 1<<r.IntN(64)
			}
			known = append(known, fp)
			offset++
			a := &claim[i]
			a.Coordinates = article.Coordinates{Topic: "t", Partition: partition, Offset: offset}
			a.ID, a.Time, a.Fingerprint = a.String(), time.Now(), fp
			copy(a.Digest[:], a.ID)
			a.Signature = []byte{byte(r.IntN(3))}
		}
		if r.IntN(50) == 0 {
			ctx, cancel := context.WithTimeout(b.Context(), time.Duration(r.IntN(3000))*time.Microsecond)
			_, _ = x.Claim(ctx, claim)
			cancel()
			if r.IntN(4) == 0 {
				continue
			}
		}
		_, err := x.Claim(b.Context(), claim)
		require.NoError(b, err)
	}
}
