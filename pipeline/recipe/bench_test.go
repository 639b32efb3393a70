package recipe

import (
	"strings"
	"testing"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
)

func BenchmarkFingerprint(b *testing.B) {
	perText(b, func(r *Recipe, text string) { r.Fingerprint(text, article.Origin{}) })
}

func BenchmarkCut(b *testing.B) {
	perText(b, func(r *Recipe, text string) { r.segmenter.Cut(nil, text, nil) })
}

func BenchmarkClean(b *testing.B) {
	perText(b, func(_ *Recipe, raw string) { text.Clean(raw) })
}

func perText(b *testing.B, run func(r *Recipe, text string)) {
	r := testRecipe(b)
	for name, text := range map[string]string{
		"zh":   strings.Repeat(zhArticle, 3),
		"en":   strings.Repeat(enArticle, 3),
		"html": strings.Repeat("<p>"+strings.ReplaceAll(zhArticle, "\n", "</p>\n<p>&nbsp;&nbsp;")+"</p>", 3),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				run(r, text)
			}
		})
	}
}
