//go:build !race

package pipeline

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
)

// Articles that are much larger than any real one take little memory for each byte of their value, that of jieba and of garbage
// included. Not with the race detector, which takes memory of its own.
func TestPeakMemory(t *testing.T) {
	r := testRecipe(t)
	for _, c := range []struct {
		kind string
		most float64 // bytes at the peak for each byte of the value, with room to spare
	}{
		{"Han", 10},
		{"one Han", 10},
		{"Cyrillic", 10},
		{"numbers", 10},
		{"marks", 13},
		{"words", 40}, // hardly one occurs twice, so each is kept
		{"tags", 10},
		{"open tags", 26},
	} {
		value := asJSON(hostileTexts(4 << 20)[c.kind])
		peak, err := peakMemory(func() { decodeAndFingerprint(r, value) })
		if err != nil {
			t.Skip(err)
		}
		perByte := float64(peak) / float64(len(value))
		t.Logf("%-10s %5.1f", c.kind, perByte)
		if perByte > c.most {
			t.Errorf("%s: %.1f bytes of memory at the peak for each byte", c.kind, perByte)
		}
	}
}

// peakMemory is how much the memory of this process, cgo's included, grows while run runs.
func peakMemory(run func()) (int, error) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the high-water mark
		return 0, fmt.Errorf("this system does not tell the most memory used: %w", err)
	}
	before, err := highWater()
	if err != nil {
		return 0, err
	}
	run()
	after, err := highWater()
	return after - before, err
}

var highWaterLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// highWater is the most memory that was resident since the mark was reset.
func highWater() (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	line := highWaterLine.FindSubmatch(status)
	if line == nil {
		return 0, fmt.Errorf("no VmHWM in /proc/self/status")
	}
	kib, err := strconv.Atoi(string(line[1]))
	return kib << 10, err
}
