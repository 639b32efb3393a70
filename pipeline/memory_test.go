//go:build linux && !race

package pipeline

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/internal/hostiletext"
	"echosieve/test/child"
)

// Articles that are much larger than any real one take little memory for each byte of their value, including
// jieba's memory and garbage. This is not tested with the race detector, which takes memory itself.
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
		{"Cyrillic", 26}, // as words
		{"numbers", 10},
		{"marks", 16},
		{"words", 40}, // hardly any word occurs twice, so each is kept
		{"tags", 10},
		{"open tags", 26},
	} {
		value := asJSON(hostiletext.Of(4 << 20)[c.kind])
		peak := peakMemory(t, func() { decodeAndFingerprint(r, value) })
		perByte := float64(peak) / float64(len(value))
		t.Logf("%-10s %5.1f", c.kind, perByte)
		if perByte > c.most {
			t.Errorf("%s: %.1f bytes of memory at the peak for each byte", c.kind, perByte)
		}
	}
}

// peakMemory is by how much the memory of this process, including cgo's, grows while run runs.
func peakMemory(t testing.TB, run func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0), "resets the high-water mark")
	before := child.PeakMemory(os.Getpid())
	require.Positive(t, before)
	run()
	return child.PeakMemory(os.Getpid()) - before
}
