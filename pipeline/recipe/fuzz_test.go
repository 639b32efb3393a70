package recipe

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"echosieve/pipeline/article"
)

func addTexts(f *testing.F) {
	for _, text := range []string{
		"", zhArticle, enArticle, "<p>a&lt;b&gt;<EED></p><!--", "&amp;amp;lt;p&gt;", "\xff\x00e\u0301…",
		"ＧＤＰ３．５％", "臺灣", "<script>x", "İﬁ①℃\uf907\U0002f800", "c++ 9.. a1 #",
	} {
		f.Add(text)
	}
}

func FuzzClean(f *testing.F) {
	addTexts(f)
	f.Fuzz(checkClean)
}

func FuzzFingerprint(f *testing.F) {
	r := testRecipe(f)
	addTexts(f)
	f.Fuzz(func(t *testing.T, text string) {
		a, _ := r.Fingerprint(text, article.Origin{})
		again, _ := r.Fingerprint(text, article.Origin{})
		if !reflect.DeepEqual(a, again) {
			t.Fatalf("%+v, then %+v", a, again)
		}
		normalised := normalise(Clean(text))
		if !utf8.ValidString(normalised) || a.Empty != (normalised == "") || a.Features > 0 && a.Empty {
			t.Fatalf("normalised %q, article %+v", normalised, a)
		}
		if marked, _ := r.Fingerprint(strings.Join([]string{"<div>", "</div>"}, text), article.Origin{}); !strings.ContainsAny(text, "<&") && marked.Digest != a.Digest {
			t.Fatalf("wrapped in markup: %+v, bare %+v", marked, a)
		}
	})
}
