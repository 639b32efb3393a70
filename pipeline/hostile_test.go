package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/page"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

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
		// more than maxMembers at each size: beyond it, decoding takes twice as long
		"JSON: deep, not over": object(`"a":` + repeat(strings.Repeat("[", 100)+strings.Repeat("]", 100)+`,"b":`) +
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
