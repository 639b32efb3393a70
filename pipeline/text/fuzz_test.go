package text

import (
	"testing"
)

func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"", zhArticle, enArticle, "<p>a&lt;b&gt;<EED></p><!--", "&amp;amp;lt;p&gt;", "\xff\x00e\u0301…",
		"ＧＤＰ３．５％", "臺灣", "<script>x", "İﬁ①℃\uf907\U0002f800", "c++ 9.. a1 #",
	} {
		f.Add(text)
	}
	f.Fuzz(checkClean)
}
