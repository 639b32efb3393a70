package recipe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/page"
)

func TestPageOfNothingButFurnitureIsLittleText(t *testing.T) {
	r := testRecipe(t)
	for _, page := range []string{enMenu + enFooter, "首页\n新闻\n" + zhFooter} {
		a, _ := r.Fingerprint(page, article.Origin{})
		require.True(t, a.LittleText, page)
		require.False(t, a.Empty)
	}
}

func TestArticleOfPage(t *testing.T) {
	r := testRecipe(t)
	cfg := DefaultConfig()
	cfg.HTML = page.HTMLText
	asText, err := Load(cfg)
	require.NoError(t, err)
	require.NotEqual(t, r.ID(), asText.ID())
	for name, text := range map[string]string{"zh": zhArticle, "en": enArticle, "other": enOther} {
		plain, _ := r.Fingerprint(text, article.Origin{})
		one, _ := r.Fingerprint(newstext.Page(text, 1), article.Origin{})
		two, _ := r.Fingerprint("\ufeff\n"+strings.Replace(newstext.Page(text, 2), "<!DOCTYPE html>\n", "", 1),
			article.Origin{})
		require.Equal(t, plain.SimHash, one.SimHash, name)
		require.Equal(t, plain.SimHash, two.SimHash, name)
		require.Equal(t, plain.Signature, two.Signature, name)
		require.NotEqual(t, one.Digest, two.Digest, "an exact copy is a copy of the whole page")
		require.Greater(t, one.LeftOut(), 0.3, name)

		whole, _ := asText.Fingerprint(newstext.Page(text, 1), article.Origin{})
		require.NotEqual(t, plain.SimHash, whole.SimHash, name)
		require.Equal(t, one.CleanBytes, whole.CleanBytes)
	}
}
