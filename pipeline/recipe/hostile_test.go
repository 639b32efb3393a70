package recipe

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
)

func TestHostileTexts(t *testing.T) {
	r := testRecipe(t)
	start := time.Now()
	for name, raw := range map[string]string{
		"tags":            strings.Repeat("<b>", 1_000_000),
		"tags never shut": strings.Repeat("<b ", 1_000_000),
		"unknown tags":    strings.Repeat("<zz>", 1_000_000),
		"attributes":      "<p " + strings.Repeat("a=b ", 200_000) + ">x",
		"comments":        strings.Repeat("<!--", 500_000),
		"scripts":         strings.Repeat("<script>", 500_000),
		"end tags":        strings.Repeat("</script", 500_000),
		"quotes":          strings.Repeat("<a b='", 500_000),
		"ampersands":      strings.Repeat("&", 2_000_000),
		"escapes":         strings.Repeat("&amp;", 300_000) + "lt;p",
		"accents":         "e" + strings.Repeat("\u0301", 1_000_000),
		"invalid":         strings.Repeat("\xff", 2_000_000),
		"one long run":    strings.Repeat("x#", 1_000_000),
		"one long word":   strings.Repeat("长", 500_000),
		"full stops":      strings.Repeat("1.", 1_000_000),
		"zero bytes":      strings.Repeat("\x00", 2_000_000),
		"ellipses":        strings.Repeat("…", 500_000),
		"many words":      manyWords(300_000),
		"spaced":          "中 文 " + strings.Repeat("a ", 1_000_000) + "中 文",
		"spaced Chinese":  strings.Repeat("中 ", 500_000),
		"symbols":         strings.Repeat("中~^·", 300_000),
		"look-alikes":     strings.Repeat("аa", 500_000),
		"leet":            strings.Repeat("a3e", 500_000),
		"short lines":     strings.Repeat("line\n", 500_000),
		"wrapped lines":   strings.Repeat(strings.Repeat("line, ", 6)+"\n", 50_000),
	} {
		article, _ := r.Fingerprint(raw, article.Origin{})
		require.Equal(t, len(text.Clean(raw)), article.CleanBytes, name)
	}
	require.Less(t, time.Since(start), 20*time.Minute)
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		for v := i + 1000; v > 0; v /= 26 {
			b.WriteByte(byte('a' + v%26))
		}
		b.WriteByte(' ')
	}
	return b.String()
}
