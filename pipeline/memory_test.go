//go:build linux && !race

package pipeline_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/test/host"
)

// Articles that are much larger than any real one take little memory for each byte of their value, including
// jieba's memory and garbage, and those of 1 MiB that take the most take less than 64 MiB. This is not tested with the
// race detector, which takes memory itself.
func TestPeakMemory(t *testing.T) {
	if !alone(t, 2) { // each core keeps its own buffers
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

// alone says whether this process runs one test alone. If not, it runs the test in a process of its own with so many
// cores: memory left by other tests changes when garbage is collected.
func alone(t *testing.T, cores int) bool {
	t.Helper()
	const variable = "ECHOSIEVE_TEST_ALONE"
	if os.Getenv(variable) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1", fmt.Sprint("GOMAXPROCS=", cores))
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	require.NoError(t, err)
	return false
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

// Three batches of each of 12 partitions are prepared and kept, as the consumer does while the index is away. With the
// default settings the process takes less than 400 MiB, even on sixteen cores: 250 MiB without those of an idle service
// and of fetched data. The values take as much memory as any, whatever they take in the record batch.
func TestWorstBatches(t *testing.T) {
	if !alone(t, 16) {
		return
	}
	const most, growth = 1<<20 - 64, 250 << 20
	stages := newPipeline(t, nil, nil,
		func(c *pipeline.Config) { c.Decode.Memory = decode.NewMemory(16 << 20 / 8) })
	for kind, value := range map[string]string{
		"title": `{"text":"x y z","title":"` + strings.Repeat("a", most) + `"}`,
		"words": string(asJSON(hostileTexts(most)["words"])),
	} {
		value := []byte(host.Gzip(t, value))
		require.Less(t, leastPeak(t, kind+", gzip", growth, func() {
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
		}), int64(growth), kind)
	}
}
