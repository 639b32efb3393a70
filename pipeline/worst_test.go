//go:build linux && !race

package pipeline

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/internal/hostiletext"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// worstValues are values that take as much memory as any with the default settings, whatever they take in the record
// batch.
func worstValues(t testing.TB) map[string][]byte {
	t.Helper()
	most := 1<<20 - 64
	words := string(asJSON(hostiletext.Of(most)["words"]))
	return map[string][]byte{
		"title, gzip": []byte(hostiletext.Gzip(`{"text":"x y z","title":"` + strings.Repeat("a", most) +
			`"}`)),
		"title of 4 MiB, gzip": []byte(hostiletext.Gzip(`{"text":"x y z","title":"` + strings.Repeat("a", 4*most) +
			`"}`)),
		"words, gzip":             []byte(hostiletext.Gzip(words)),
		"words, zstd of a stream": []byte(hostiletext.Streamed(words)),
		"words":                   []byte(words[:most-6000] + `"}`),
		"words of 294 KB, gzip":   []byte(hostiletext.Gzip(string(asJSON(hostiletext.Of(294 << 10)["words"])))),
		"as many members as there is room": []byte(hostiletext.Gzip(`{"text":"x y z"` + strings.Repeat(`,"":0`, most/5-20) +
			`}`)),
	}
}

// Three batches of each of 12 partitions are prepared and kept, as the consumer does while the index is away. With the
// default settings the process takes less than 400 MiB, even on sixteen cores. The benchmark shows more kinds of
// values, and whole batches.
func TestWorstBatches(t *testing.T) {
	const alone = "ECHOSIEVE_TEST_ALONE"
	if os.Getenv(alone) == "" { // in a process of its own: memory left by other tests changes when garbage is collected
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorstBatches$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1", "GOMAXPROCS=16")
		output, err := cmd.CombinedOutput()
		t.Logf("%s", output)
		require.NoError(t, err)
		return
	}
	stages, values := newWorst(t), worstValues(t)
	for _, kind := range []string{"title, gzip", "words, gzip"} {
		peak := peakMemory(t, func() { prepareWorst(t, stages, values[kind], 1) })
		t.Logf("%-34s %4d MiB", kind, peak>>20)
		require.Less(t, peak, int64(worstGrowth), kind)
	}
}

// worstGrowth is the memory of the default settings without that of an idle service and of fetched data, in bytes.
const worstGrowth = 250 << 20

func newWorst(t testing.TB) *Pipeline {
	t.Helper()
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	cfg := decode.DefaultConfig()
	cfg.Memory = decode.NewMemory(16 << 20 / 8)
	stages, err := New(Config{Decode: cfg, MaxMessageBytes: 1 << 20}, made, nil, nil)
	require.NoError(t, err)
	return stages
}

// prepareWorst prepares three batches of n records in each of 12 partitions, and holds them until all are prepared.
func prepareWorst(t testing.TB, stages *Pipeline, value []byte, n int) {
	t.Helper()
	var partitions sync.WaitGroup
	kept := make(chan *Batch, 36)
	for range 12 {
		partitions.Go(func() {
			for range 3 {
				records := make([]record.Record, n)
				for i := range records {
					records[i].Value = value
				}
				if b, err := stages.Prepare(t.Context(), records); err != nil {
					t.Error(err)
				} else {
					kept <- b
				}
			}
		})
	}
	partitions.Wait()
	require.Len(t, kept, 36)
}
