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

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/classic"
)

// hostileTexts returns texts of about n bytes, made to cost as much as possible.
func hostileTexts(n int) map[string]string {
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(alphabet string, longestWord int) string {
		letters := []rune(alphabet)
		var b strings.Builder
		for b.Len() < n {
			for letter := random.IntN(longestWord); letter >= 0 && b.Len() < n; letter-- {
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
		"Latin, no space": fill("abcdefghijklmnopqrstuvwxyz", n),
		"Han numerals":    fill("一二三四五六七八九十百千万亿零", n),
		"nested tags":     repeat("<div><p>") + "x",
		"end tags":        repeat("</p></"),
	}
}

// hostileValues returns JSON values of about n bytes, made to cost decoding as much as possible.
func hostileValues(n int) map[string][]byte {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	object := func(fields string) []byte { return []byte(`{` + fields + `"text":"x"}`) }
	return map[string][]byte{
		"JSON: fields":         object(repeat(`"k":0,`)),
		"JSON: duplicate keys": object(repeat(`"text":"x","id":1,`)),
		"JSON: escapes":        object(`"a":"` + repeat(`\u0041\n`) + `",`),
		"JSON: text escaped":   []byte(`{"text":"` + repeat(`\u4e2d`) + `"}`),
		"JSON: surrogates":     []byte(`{"text":"` + repeat(`\ud800`) + `"}`),
		"JSON: backslashes":    object(`"a":"` + repeat(`\\`) + `",`),
		"JSON: open objects":   []byte(repeat(`{"text":`)),
		"JSON: deep, not over": object(`"a":` + repeat(strings.Repeat("[", 500)+strings.Repeat("]", 500)+`,"b":`) + `0,`),
		"JSON: open string":    []byte(`{"text":"` + repeat("a")),
		"JSON: spaces":         object(repeat(" ")),
		"JSON: number":         object(`"id":` + repeat("1") + `,`),
		"ejson: wrappers":      object(repeat(`"_id":{"$oid":"5"},"$oid":{"$numberLong":"1"},`)),
		"ejson: long id":       object(`"_id":{"$oid":"` + repeat("5") + `"},`),
		"ejson: many keys":     object(`"_id":{` + repeat(`"a":1,`) + `"$uuid":"x"},`),
	}
}

// hostileCases returns what is done with the values of about n bytes: an article from JSON to its fingerprint, the title of a
// page, and the fingerprints of the classic recipes.
func hostileCases(t testing.TB, n int) map[string]func() {
	t.Helper()
	news, page, cases := testRecipe(t), DecodeConfig{Format: FormatHTML}, map[string]func(){}
	for name, value := range hostileValues(n) {
		cases[name] = func() { decodeAndFingerprint(news, value) }
	}
	for name, text := range hostileTexts(n) {
		value := asJSON(text)
		cases[name] = func() { decodeAndFingerprint(news, value) }
		if strings.ContainsAny(text, "<&") {
			titled := []byte("<title>" + text)
			cases["title: "+name] = func() { page.Decode(&Record{Value: titled}) }
		}
	}
	for _, recipe := range classic.Names() {
		cfg := DefaultRecipeConfig()
		cfg.Name = recipe
		r, err := LoadRecipe(cfg)
		require.NoError(t, err)
		for _, name := range []string{"Han", "one Han", "one token", "words", "numbers", "tags", "invalid UTF-8"} {
			text := hostileTexts(n)[name]
			cases[recipe+": "+name] = func() { r.Fingerprint(text) }
		}
	}
	return cases
}

// hostileSizes are in bytes.
var hostileSizes = []int{1 << 16, 1 << 17, 1 << 18}

// BenchmarkHostile shows the CPU time of hostile values by their size; x/size is the time per byte in proportion to that of
// the smallest size, 1 for a linear path.
func BenchmarkHostile(b *testing.B) {
	bySize := map[int]map[string]func(){}
	for _, size := range hostileSizes {
		bySize[size] = hostileCases(b, size)
	}
	for _, name := range slices.Sorted(maps.Keys(bySize[hostileSizes[0]])) {
		first := 0.0
		for _, size := range hostileSizes {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				work, start := bySize[size][name], cpuTime(b)
				for b.Loop() {
					work()
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
	least, most := hostileSizes[0], hostileSizes[2]
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

// fastest is the least CPU time of three, each repeated for a millisecond at least, so that timing means something.
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
