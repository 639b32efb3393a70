package pipeline

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostileTexts returns texts of about n bytes, made to cost as much as possible.
func hostileTexts(n int) map[string]string {
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(alphabet string, longestWord int) string {
		letters := []rune(alphabet)
		var b strings.Builder
		for b.Len() < n {
			for range 1 + random.IntN(longestWord) {
				b.WriteRune(letters[random.IntN(len(letters))])
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return map[string]string{
		"one word":        repeat("harvest "),
		"one token":       repeat("x"),
		"one Han":         repeat("中"),
		"Han":             fill("的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后", n),
		"words":           fill("abcdefghijklmnopqrstuvwxyz", 8),
		"Cyrillic":        fill("абвгдежзийклмнопрстуфхцчшщъыьэюя", 8),
		"digits":          fill("0123456789", n),
		"numbers":         fill("0123456789.,%-", 5),
		"marks":           "e" + repeat("\u0301\u0323"),
		"compatibility":   repeat("\u2103\ufdfa\u33d0"),
		"punctuation":     repeat("!?,;. "),
		"tags":            repeat("<b><i></i></b>"),
		"open tags":       repeat("<div "),
		"attributes":      "<div " + repeat(`a="b" `) + ">x</div>",
		"open comments":   repeat("<!--"),
		"open scripts":    repeat("<script>"),
		"entities":        repeat("&amp;amp;"),
		"entity prefixes": "&" + repeat("a"),
		"brackets":        repeat("[{"),
		"invalid UTF-8":   repeat("\xff\xc3\xe4\xb8"),
	}
}

// hostileSizes are in bytes; the smallest takes a millisecond or more, so that timing means something.
var hostileSizes = []int{1 << 16, 1 << 17, 1 << 18}

// BenchmarkHostile shows the CPU time of decoding, cleaning and fingerprinting hostile texts by their size; x/size is the time
// per byte in proportion to that of the smallest size, 1 for a linear path.
func BenchmarkHostile(b *testing.B) {
	r := testRecipe(b)
	for _, name := range slices.Sorted(maps.Keys(hostileTexts(1 << 10))) {
		first := 0.0
		for _, size := range hostileSizes {
			value := asJSON(hostileTexts(size)[name])
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				start := cpuTime(b)
				for b.Loop() {
					decodeAndFingerprint(r, value)
				}
				perByte := float64(cpuTime(b)-start) / float64(b.N) / float64(size)
				if size == hostileSizes[0] {
					first = perByte
				}
				b.ReportMetric(perByte, "cpu-ns/B")
				b.ReportMetric(perByte/first, "x/size")
				b.ReportMetric(0, "ns/op") // wall clock says less
			})
		}
	}
}

// Four times the text takes about four times as long: a quadratic path would take sixteen times.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	r := testRecipe(t)
	least, most := hostileSizes[0], hostileSizes[2]
	small, large := hostileTexts(least), hostileTexts(most)
	for _, name := range slices.Sorted(maps.Keys(small)) {
		a, b := asJSON(small[name]), asJSON(large[name])
		var ratio float64
		for range 5 {
			ratio = float64(fastest(t, r, b)) / float64(fastest(t, r, a))
			if ratio < 8 {
				break
			}
		}
		t.Logf("%-16s %5.1f", name, ratio)
		if ratio >= 8 {
			t.Errorf("%s: %d times the text takes %.1f times as long", name, most/least, ratio)
		}
	}
}

// fastest is the least CPU time of three.
func fastest(t testing.TB, r *Recipe, value []byte) time.Duration {
	t.Helper()
	best := time.Duration(1<<63 - 1)
	for range 3 {
		start := cpuTime(t)
		decodeAndFingerprint(r, value)
		best = min(best, cpuTime(t)-start)
	}
	return best
}

// cpuTime is this process's CPU time: unlike the clock it does not see the load of others.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func decodeAndFingerprint(r *Recipe, value []byte) {
	cfg := DefaultDecodeConfig()
	if doc, reject := cfg.Decode(&Record{Value: value}); reject == nil {
		r.Fingerprint(doc.Text)
	}
}

func asJSON(text string) []byte {
	return []byte(`{"text":"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text) + `"}`)
}
