//go:build !race

package pipeline

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/internal/hostiletext"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// hostileCases returns functions that process values of about n bytes: from JSON to the fingerprint, to the
// title of a page, and to the fingerprints of the classic recipes.
func hostileCases(t testing.TB, n int) map[string]func() {
	t.Helper()
	news, page, cases := newsRecipe(t), decode.Config{Format: decode.FormatHTML}, map[string]func(){}
	for name, value := range hostileValues(n) {
		cases[name] = func() { decodeAndFingerprint(news, value) }
	}
	for name, text := range hostiletext.Of(n) {
		value := asJSON(text)
		cases[name] = func() { decodeAndFingerprint(news, value) }
		if strings.ContainsAny(text, "<&") {
			titled := []byte("<title>" + text)
			document := asJSON("<!doctype html><body>" + text)
			cases["document: "+name] = func() { decodeAndFingerprint(news, document) }
			cases["title: "+name] = func() { _, _ = page.Decode(&record.Record{Value: titled}) }
		}
	}
	for _, name := range classic.Names() {
		cfg := recipe.DefaultConfig()
		cfg.Name = name
		r, err := recipe.Load(cfg)
		require.NoError(t, err)
		for _, kind := range []string{"Han", "one Han", "one token", "words", "numbers", "tags", "invalid UTF-8"} {
			text := hostiletext.Of(n)[kind]
			cases[name+": "+kind] = func() { r.Fingerprint(text, article.Origin{}) }
		}
	}
	return cases
}

// least and most are the sizes of hostile values, in bytes.
const least, most = 1 << 16, 1 << 18

// A text of four times the size takes about four times as long; with a quadratic step it would take sixteen
// times as long. This is not tested with the race detector, because its own work would be measured.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	small, large := hostileCases(t, least), hostileCases(t, most)
	for _, name := range slices.Sorted(maps.Keys(small)) {
		var ratio float64
		for range 5 {
			ratio = float64(fastest(t, large[name])) / float64(fastest(t, small[name]))
			if ratio < 8 {
				break
			}
		}
		t.Logf("%-32s %5.1f", name, ratio)
		if ratio >= 8 {
			t.Errorf("%s: %d times the text takes %.1f times as long", name, most/least, ratio)
		}
	}
}

// fastest is the least CPU time of three measurements. Each repeats run for at least a millisecond, the least
// that can be measured.
func fastest(t testing.TB, work func()) time.Duration {
	t.Helper()
	best := time.Duration(1<<63 - 1)
	for range 3 {
		start, times, took := cpuTime(t), time.Duration(0), time.Duration(0)
		for took < time.Millisecond {
			work()
			times++
			took = cpuTime(t) - start
		}
		best = min(best, took/times)
	}
	return best
}

// cpuTime is the CPU time of this process. Unlike the clock, it does not depend on the load of the machine.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// A long field without a separator of jieba is cut in pieces. Scanning the whole field for each piece would
// take quadratic time, which can be measured from some megabytes on.
func TestLongFieldsTakeLinearTime(t *testing.T) {
	r := newsRecipe(t)
	cut := func(unit string, size int) func() {
		text := strings.Repeat(unit, size/len(unit))
		return func() { r.Fingerprint(text, article.Origin{}) }
	}
	for name, unit := range map[string]string{"Han": "国", "Latin before Han": strings.Repeat("a", 1<<20) + "国"} {
		var ratio float64
		for range 5 {
			if ratio = float64(fastest(t, cut(unit, 8<<20))) / float64(fastest(t, cut(unit, 2<<20))); ratio < 8 {
				break
			}
		}
		if ratio >= 8 {
			t.Errorf("%s: 4 times the text takes %.1f times as long", name, ratio)
		}
	}
}
