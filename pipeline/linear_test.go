//go:build !race

package pipeline_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/classic"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/stories"
	"echosieve/test/host"
	"echosieve/test/newstext"
)

// hostileCases returns functions that do what the service and its console do with values and texts of about n bytes.
func hostileCases(t testing.TB, n int) map[string]func() {
	t.Helper()
	news, cases, describe := newsRecipe(t), map[string]func(){}, new(stories.Rules).Describe
	for name, value := range hostileValues(n) {
		cases[name] = func() { decodeAndFingerprint(news, value) }
	}
	texts := hostileTexts(n)
	for name, text := range texts {
		value, document, titled := asJSON(text), asJSON("<!doctype html>"+text), []byte("<title>"+text)
		cases["text: "+name] = func() { decodeAndFingerprint(news, value) }
		cases["document: "+name] = func() { decodeAndFingerprint(news, document) }
		if strings.ContainsAny(text, "<&") {
			page := decode.Config{Format: decode.FormatHTML}
			cases["title: "+name] = func() { _, _ = page.Decode(&record.Record{Value: titled}) }
		}
		cases["stories: "+name] = func() { describe(article.Ref{}, article.Content{Text: text, URL: text}, time.Time{}) }
		cases["side by side: "+name] = func() { changes.Align(text[:len(text)/2], text[len(text)/2:], nil) }
	}
	for _, name := range classic.Names() {
		cfg := recipe.DefaultConfig()
		cfg.Name = name
		r, err := recipe.Load(cfg)
		require.NoError(t, err)
		for _, kind := range []string{"Han", "one Han", "one token", "words", "numbers", "tags", "invalid UTF-8"} {
			cases[name+": "+kind] = func() { r.Fingerprint(texts[kind], article.Origin{}) }
		}
	}
	return cases
}

const (
	least, most = 1 << 15, 1 << 17 // sizes of hostile values, in bytes
	maxRatio    = 10               // by how much more time the larger one may take, on a machine with other work, too
	maxDear     = 100              // by how much more time a hostile text may take than an ordinary one; the dearest: 50
	cheap       = 5                // a text is cheap below it: with 1 MiB it is below maxDear, in quadratic time, too
)

// A text of four times the size takes about four times as long, unless it is cheap; with a quadratic step it would take
// sixteen times as long. None takes more than maxDear times the CPU time of an ordinary text of its size, which is
// measured beside it: the bounds hold on a machine of any speed and load. This is not tested with the race detector,
// because its own work would be measured.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	small, large := hostileCases(t, least), hostileCases(t, most)
	ordinary := ordinaryCase(t)
	usual := host.CPU(t, 100*time.Millisecond, ordinary)
	for _, name := range slices.Sorted(maps.Keys(small)) {
		growth, dear := 0.0, float64(host.CPU(t, 0, large[name]))/float64(usual)
		if dear > cheap { // perhaps more was measured: the medians of five decide
			var growths, costs []float64
			for len(growths) < 5 && (len(growths) != 1 || growths[0] >= maxRatio || costs[0] >= maxDear) {
				long := float64(host.CPU(t, 5*time.Millisecond, large[name]))
				growths = append(growths, long/float64(host.CPU(t, 5*time.Millisecond, small[name])))
				costs = append(costs, long/float64(host.CPU(t, 20*time.Millisecond, ordinary)))
			}
			slices.Sort(growths)
			slices.Sort(costs)
			growth, dear = growths[len(growths)/2], costs[len(costs)/2]
		}
		t.Logf("%-40s %5.1f %5.1f", name, growth, dear)
		if dear >= maxDear || dear > cheap && growth >= maxRatio {
			t.Errorf("%s: %d times the text takes %.1f times as long; it takes %.1f times as long as ordinary text",
				name, most/least, growth, dear)
		}
	}
}

// ordinaryCase returns a function that does with articles of most bytes what the hostile cases do with theirs.
func ordinaryCase(t testing.TB) func() {
	t.Helper()
	articles := newstext.En + newstext.EnOther + newstext.Zh + newstext.ZhOther
	value, err := json.Marshal(map[string]string{"text": strings.Repeat(articles, most/len(articles))})
	require.NoError(t, err)
	news := newsRecipe(t)
	return func() { decodeAndFingerprint(news, value) }
}

// FuzzCost looks for a text that costs twice as much as the dearest known one: a beginning, then something again and
// again. The more CPU a text takes the more often the loop at the end runs, and fuzzing keeps what runs a loop more
// often.
func FuzzCost(f *testing.F) {
	for _, text := range hostileTexts(64) {
		f.Add("", text[:min(len(text), 256)])
		f.Add("<!doctype html>", text[:min(len(text), 256)])
	}
	f.Add("<!doctype html>"+strings.Repeat("<span>", 300), "<p>x")
	news, steps := newsRecipe(f), 0
	dearest := "<!doctype html>" + hostileTexts(most)["vowels"]
	known := host.CPU(f, 100*time.Millisecond, func() { news.Fingerprint(dearest, article.Origin{}) })
	f.Fuzz(func(t *testing.T, begin, again string) {
		if again == "" || len(begin) > most/8 || len(again) > most/8 {
			return
		}
		text := begin + strings.Repeat(again, (most-len(begin))/len(again))
		cost := time.Duration(math.MaxInt64)
		for range 5 {
			if cost = min(cost, host.CPU(t, 0, func() { news.Fingerprint(text, article.Origin{}) })); cost < 2*known {
				break
			}
		}
		if cost > 2*known {
			t.Errorf("it takes %v, the dearest known text %v", cost, known)
		}
		for ; cost > 0; cost -= known / 32 {
			steps++
		}
	})
}

// A long field without a separator of jieba is cut in pieces. Sixteen times the text takes about sixteen times as long.
// Scanning the whole field for each piece would take 256 times as long.
func TestLongFieldsTakeLinearTime(t *testing.T) {
	r := newsRecipe(t)
	cut := func(unit string, size int) func() {
		text := strings.Repeat(unit, size/len(unit))
		return func() { r.Fingerprint(text, article.Origin{}) }
	}
	for name, unit := range map[string]string{"Han": "国", "Latin before Han": strings.Repeat("a", 1<<18) + "国"} {
		if ratio := host.Ratio(t, 0, 64, cut(unit, 1<<20), cut(unit, 16<<20)); ratio >= 64 {
			t.Errorf("%s: 16 times the text takes %.1f times as long", name, ratio)
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

// newsRecipe returns the recipe news with a learnt sentence, so that texts are cut into sentences.
func newsRecipe(t testing.TB) *recipe.Recipe {
	t.Helper()
	r, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	rows := &learnt.Rows{}
	rows.Add(learnt.Row{Publisher: learnt.Everybody, Hash: learnt.Hash("a sentence that is long enough, and counts.")})
	r.LeaveOut(rows)
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
