package recipe

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// A copy with evasions in all of its text has the digest of its original.
func TestEvasionsDoNotReachTheDigest(t *testing.T) {
	r := testRecipe(t)
	lookAlike := strings.NewReplacer("a", "а", "c", "с", "e", "е", "i", "і", "o", "о", "p", "р", "s", "ѕ", "x", "х",
		"y", "у")
	spread := func(text, between string) string {
		var b strings.Builder
		for _, r := range text {
			b.WriteRune(r)
			if unicode.Is(unicode.Han, r) {
				b.WriteString(between)
			}
		}
		return b.String()
	}
	zh := strings.ReplaceAll(zhArticle, "（记者 王小川）", "")
	for name, c := range map[string]struct{ text, edited string }{
		"zero width":  {zh, spread(zh, "\u200b")},
		"spaced":      {zh, spread(zh, " ")},
		"symbols":     {zh, strings.ReplaceAll(zh, "预", "~预^")},
		"look-alikes": {enArticle, lookAlike.Replace(enArticle)},
		"decomposed": {"Zoë Müller, Café Señor: " + enArticle, "Zoe\u0308 Mu\u0308ller, Cafe\u0301 Sen\u0303or: " +
			enArticle},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, c.text, c.edited)
			want, _ := r.Fingerprint(c.text, article.Origin{})
			got, _ := r.Fingerprint(c.edited, article.Origin{})
			require.Equal(t, want.Fingerprint, got.Fingerprint)
			if name != "symbols" {
				require.Equal(t, want.Digest, got.Digest)
			}
		})
	}
}
