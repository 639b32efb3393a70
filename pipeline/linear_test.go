//go:build !race

package pipeline_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/page"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// hostileCases returns functions that process values and texts of about n bytes.
func hostileCases(t testing.TB, n int) map[string]func() {
	t.Helper()
	news, page, cases := newsRecipe(t), decode.Config{Format: decode.FormatHTML}, map[string]func(){}
	for name, value := range hostileValues(n) {
		cases[name] = func() { decodeAndFingerprint(news, value) }
	}
	for name, text := range hostileTexts(n) {
		value, document := asJSON(text), asJSON("<!doctype html>"+text)
		cases["text: "+name] = func() { decodeAndFingerprint(news, value) }
		cases["document: "+name] = func() { decodeAndFingerprint(news, document) }
		if strings.ContainsAny(text, "<&") {
			titled := []byte("<title>" + text)
			cases["title: "+name] = func() { _, _ = page.Decode(&record.Record{Value: titled}) }
		}
	}
	for _, name := range classic.Names() {
		cfg := recipe.DefaultConfig()
		cfg.Name = name
		r, err := recipe.Load(cfg)
		require.NoError(t, err)
		for _, kind := range []string{"Han", "one Han", "one token", "words", "numbers", "tags", "invalid UTF-8"} {
			text := hostileTexts(n)[kind]
			cases[name+": "+kind] = func() { r.Fingerprint(text, article.Origin{}) }
		}
	}
	return cases
}

const (
	least, most = 1 << 16, 1 << 18 // sizes of hostile values, in bytes
	maxRatio    = 6                // by how much more time the larger one may take
	maxPerKB    = 400 * time.Microsecond
)

// A text of four times the size takes about four times as long; with a quadratic step it would take sixteen times as
// long. None takes more than 400 us of CPU for each of its KB. This is not tested with the race detector, because its
// own work would be measured.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	small, large := hostileCases(t, least), hostileCases(t, most)
	for _, name := range slices.Sorted(maps.Keys(small)) {
		var ratios []float64
		perKB := time.Duration(math.MaxInt64)
		for range 5 { // the median of five decides, of which the others are measured if the first is too high
			long := timeOf(t, large[name])
			ratios = append(ratios, float64(long)/float64(timeOf(t, small[name])))
			if perKB = min(perKB, long/(most>>10)); perKB <= maxPerKB && ratios[0] < maxRatio {
				break
			}
		}
		slices.Sort(ratios)
		ratio := ratios[len(ratios)/2]
		t.Logf("%-40s %5.1f %8v a KB", name, ratio, perKB)
		if ratio >= maxRatio || perKB > maxPerKB {
			t.Errorf("%s: %d times the text takes %.1f times as long; a KB takes %v", name, most/least, ratio, perKB)
		}
	}
}

// timeOf is the CPU time of some work. It is repeated for at least a millisecond, the least that can be measured.
func timeOf(t testing.TB, work func()) time.Duration {
	t.Helper()
	start, times, took := cpuTime(t), time.Duration(0), time.Duration(0)
	for took < time.Millisecond {
		work()
		times++
		took = cpuTime(t) - start
	}
	return took / times
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
			if ratio = float64(timeOf(t, cut(unit, 8<<20))) / float64(timeOf(t, cut(unit, 2<<20))); ratio < 8 {
				break
			}
		}
		if ratio >= 8 {
			t.Errorf("%s: 4 times the text takes %.1f times as long", name, ratio)
		}
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
		// far more than maxMembers at each size: further ones are searched by path, so they take longer than the first
		"JSON: deep, not over": object(`"a":` + repeat(strings.Repeat("[", 25)+strings.Repeat("]", 25)+`,"b":`) +
			`0,`),
		"JSON: open string": []byte(`{"text":"` + repeat("a")),
		"JSON: spaces":      object(repeat(" ")),
		"JSON: number":      object(`"id":` + repeat("1") + `,`),
		"ejson: wrappers":   object(repeat(`"_id":{"$oid":"5"},"$oid":{"$numberLong":"1"},`)),
		"ejson: long id":    object(`"_id":{"$oid":"` + repeat("5") + `"},`),
		"ejson: many keys":  object(`"_id":{` + repeat(`"a":1,`) + `"$uuid":"x"},`),
	}
}

// newsRecipe returns the recipe news with a boilerplate table, so that texts are cut into sentences.
func newsRecipe(t testing.TB) *recipe.Recipe {
	t.Helper()
	var table strings.Builder
	written := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	require.NoError(t, page.AppendBoilerplate(&table, nil, written, written.Add(time.Hour),
		[]page.Sentence{{Publisher: page.AllPublishers, Text: "read more."}}))
	cfg := recipe.DefaultConfig()
	cfg.Boilerplate = filepath.Join(t.TempDir(), "table.tsv")
	require.NoError(t, os.WriteFile(cfg.Boilerplate, []byte(table.String()), 0o600))
	r, err := recipe.Load(cfg)
	require.NoError(t, err)
	return r
}

func decodeAndFingerprint(r *recipe.Recipe, value []byte) {
	cfg := decode.DefaultConfig()
	if doc, reject := cfg.Decode(&record.Record{Value: value}); reject == nil {
		r.Fingerprint(doc.Text, article.Origin{})
	}
}

func asJSON(text string) []byte {
	return []byte(`{"text":"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text) + `"}`)
}
