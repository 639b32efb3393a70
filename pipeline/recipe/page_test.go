package recipe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/page"
)

// Copies on pages with furniture are found. Different articles on pages with the same furniture are no copies.
func TestPagesWithFurniture(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	judge := func(a, b string) article.Judgement {
		x, _ := r.Fingerprint(a, article.Origin{})
		y, _ := r.Fingerprint(b, article.Origin{})
		return search.Compare(&y, &x)
	}
	times := func(s string, n int) string { return strings.Repeat(s, n) }
	for n := 1; n <= 4; n *= 2 {
		zh := func(article string) string { return times(zhMenu, n) + article + times(zhFooter, n) }
		en := func(article string) string { return times(enMenu, n) + article + times(enFooter, n) }
		require.Equal(t, article.Near, judge(zhArticle, zh(zhArticle)).Kind, "one side")
		require.Equal(t, article.Near, judge(enArticle, en(enArticle)).Kind, "one side")
		require.Equal(t, article.Near,
			judge(zh(zhArticle), "新声报\n时评\n深度\n影像\n"+zhArticle+"\n上一篇\n下一篇\n评论 0\n举报\n").Kind, "two sites")
		require.Equal(t, article.Near, judge(en(enArticle), "Ridge Herald\nNews\nWeather\nTraffic\n"+enArticle+
			"\nNext\nPrevious\nEditors' picks\nNewsletters\n").Kind, "two sites")
		require.Zero(t, judge(zh(zhArticle), zh(zhOther)).Kind, "other articles")
		require.Zero(t, judge(en(enArticle), en(enOther)).Kind, "other articles")
	}
}

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
