//go:build linux && !race

package pipeline_test

import (
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/child"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/test/host"
)

// Articles that are much larger than any real one take little memory for each byte of their value, including
// jieba's memory and garbage, and those of 1 MiB that take the most take less than 64 MiB. This is not tested with the
// race detector, which takes memory itself.
func TestPeakMemory(t *testing.T) {
	const alone = "ECHOSIEVE_TEST_ALONE"
	if os.Getenv(alone) == "" { // in a separate process: memory left by other tests changes when garbage is collected
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakMemory$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1", "GOMAXPROCS=2") // each core keeps its own buffers
		output, err := cmd.CombinedOutput()
		t.Logf("%s", output)
		require.NoError(t, err)
		return
	}
	r := newsRecipe(t)
	for _, c := range []struct {
		kind string
		most float64 // allowed bytes at the peak for each byte of the value, above what was measured
	}{
		{"Han", 13},
		{"one Han", 13},
		{"Cyrillic", 13}, // as words
		{"numbers", 10},
		{"marks", 16},
		{"words", 13}, // hardly any word occurs twice
		{"tags", 10},
		{"open tags", 26},
	} {
		value := asJSON(hostileTexts(4 << 20)[c.kind])
		most := int64(c.most * float64(len(value)))
		require.Less(t, leastPeak(t, c.kind, most, func() { decodeAndFingerprint(r, value) }), most, c.kind)
	}
	values, texts := map[string][]byte{}, hostileTexts(1<<20)
	for _, kind := range []string{"kana", "words", "entity prefixes", "ended codes", "line breaks", "closing tags, text",
		"short lines", "deep JSON blocks", "attributes", "www", "links", "ligatures"} {
		values["text: "+kind], values["document: "+kind] = asJSON(texts[kind]), asJSON("<!doctype html>"+texts[kind])
	}
	for kind, value := range values {
		require.Less(t, leastPeak(t, kind, 64<<20, func() { decodeAndFingerprint(r, value) }), int64(64<<20), kind)
	}
}

// leastPeak is the least peakMemory of up to three runs: garbage waits while other programs have the cores.
func leastPeak(t testing.TB, kind string, wanted int64, run func()) int64 {
	t.Helper()
	peak := int64(math.MaxInt64)
	for try := 0; try < 3 && peak >= wanted; try++ {
		peak = min(peak, peakMemory(t, run))
		t.Logf("%-30s %4d MiB of %d", kind, peak>>20, wanted>>20)
	}
	return peak
}

// peakMemory is by how much the memory of this process, including cgo's, grows while run runs.
func peakMemory(t testing.TB, run func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0), "resets the high-water mark")
	self := child.Process{Cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
	before := self.PeakMemory()
	require.Positive(t, before)
	run()
	return self.PeakMemory() - before
}

// worstValues are values that take as much memory as any with the default settings, whatever they take in the record
// batch.
func worstValues(t testing.TB) map[string][]byte {
	t.Helper()
	most := 1<<20 - 64
	return map[string][]byte{
		"title, gzip": []byte(host.Gzip(t, `{"text":"x y z","title":"`+strings.Repeat("a", most)+`"}`)),
		"words, gzip": []byte(host.Gzip(t, string(asJSON(hostileTexts(most)["words"])))),
	}
}

// Three batches of each of 12 partitions are prepared and kept, as the consumer does while the index is away. With the
// default settings the process takes less than 400 MiB, even on sixteen cores.
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
	stages := newWorst(t)
	for kind, value := range worstValues(t) {
		peak := leastPeak(t, kind, worstGrowth, func() { prepareWorst(t, stages, value) })
		require.Less(t, peak, int64(worstGrowth), kind)
	}
}

// worstGrowth is the memory of the default settings without that of an idle service and of fetched data, in bytes.
const worstGrowth = 250 << 20

func newWorst(t testing.TB) *pipeline.Pipeline {
	t.Helper()
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	cfg := decode.DefaultConfig()
	cfg.Memory = decode.NewMemory(16 << 20 / 8)
	stages, err := pipeline.New(pipeline.Config{Decode: cfg, MaxMessageBytes: 1 << 20}, made, nil, nil)
	require.NoError(t, err)
	return stages
}

// prepareWorst prepares three batches of a record in each of 12 partitions, and holds them until all are prepared.
func prepareWorst(t testing.TB, stages *pipeline.Pipeline, value []byte) {
	t.Helper()
	var partitions sync.WaitGroup
	kept := make(chan *pipeline.Batch, 36)
	for range 12 {
		partitions.Go(func() {
			for range 3 {
				if b, err := stages.Prepare(t.Context(), []record.Record{{Value: value}}); err != nil {
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
