package memindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// BenchmarkMemory stores ECHOSIEVE_TEST_STORED articles (a million) of random fingerprints, three in ten of
// them copies, in an index in a folder, and reports what each takes in memory and in the folder. Sizes are
// those of the recipe news and of ids such as "source-20240131".
func BenchmarkMemory(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("ECHOSIEVE_TEST_STORED"))
	if n == 0 {
		n = 1_000_000
	}
	for b.Loop() {
		search := article.Search{Blocks: 3, Rule: article.Rule{MaxDistance: 3}, Probes: 3}
		dir := b.TempDir()
		x, err := Open(dir, Config{Window: 168 * time.Hour, Generations: 1, Search: search, BlockBits: 16,
			MaxCandidates: 24}, "recipe")
		require.NoError(b, err)
		r, signature, before := rand.New(rand.NewPCG(1, 2)), make([]byte, 80), memory()
		var fp simhash.Fingerprint
		for i := range n {
			a := article.Article{Coordinates: article.Coordinates{Topic: "articles.jsonl", Partition: 1,
				Offset: int64(i)}, ID: fmt.Sprintf("source-%08d", i)}
			if a.Time = time.UnixMilli(1_700_000_000_000 + int64(i)); r.IntN(10) < 3 {
				fp ^= 1 << r.IntN(64)
			} else {
				fp = simhash.Fingerprint(r.Uint64())
			}
			a.Fingerprint, a.Signature, a.Anchors = fp, signature, []uint64{r.Uint64(), r.Uint64(), r.Uint64()}
			binary.BigEndian.PutUint64(a.Digest[:], uint64(i))
			_, err := x.Claim(context.Background(), []article.Article{a})
			require.NoError(b, err)
			if i%1000 == 999 {
				require.NoError(b, x.Sync())
			}
		}
		info, err := os.Stat(filepath.Join(dir, indexFile))
		require.NoError(b, err)
		b.ReportMetric(float64(memory()-before)/float64(n), "B/article")
		b.ReportMetric(float64(info.Size())/float64(n), "state-B/article")
		require.NoError(b, x.Close())
	}
}

// memory is the memory in use, in bytes.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
