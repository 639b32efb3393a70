package recipe

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
)

func addTexts(f *testing.F) {
	for _, text := range []string{
		"", zhArticle, enArticle, "<p>a&lt;b&gt;<EED></p><!--", "&amp;amp;lt;p&gt;", "\xff\x00e\u0301…",
		"ＧＤＰ３．５％", "臺灣", "<script>x", "İﬁ①℃\uf907\U0002f800", "c++ 9.. a1 #",
	} {
		f.Add(text)
	}
}

func FuzzFingerprint(f *testing.F) {
	r := testRecipe(f)
	addTexts(f)
	f.Fuzz(func(t *testing.T, raw string) {
		a, _ := r.Fingerprint(raw, article.Origin{})
		again, _ := r.Fingerprint(raw, article.Origin{})
		if !reflect.DeepEqual(a, again) {
			t.Fatalf("%+v, then %+v", a, again)
		}
		normalised := normalised(text.Clean(raw))
		if !utf8.ValidString(normalised) || a.Empty != (normalised == "") || a.Features > 0 && a.Empty {
			t.Fatalf("normalised %q, article %+v", normalised, a)
		}
		if marked, _ := r.Fingerprint(strings.Join([]string{"<div>", "</div>"}, raw),
			article.Origin{}); !strings.ContainsAny(raw, "<&") && marked.Digest != a.Digest {
			t.Fatalf("wrapped in markup: %+v, bare %+v", marked, a)
		}
	})
}
