package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/page"
	"echosieve/pipeline/text"
)

// The boilerplate of an invented site.
const (
	notice   = "This page was put together from public sources and is no legal advice."
	consent  = "Before you begin, please choose how many of our partners may count your visits."
	zhNotice = "本网转载的内容版权归原作者所有，未经书面许可不得复制。"
)

var (
	written = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	begins  = written.Add(time.Hour)
)

// recipeWith returns a recipe with a boilerplate table of the given rows, which were written at the time written.
func recipeWith(t *testing.T, rows ...page.Sentence) *Recipe {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Boilerplate = filepath.Join(t.TempDir(), "table.tsv")
	file, err := os.Create(cfg.Boilerplate)
	require.NoError(t, err)
	require.NoError(t, page.AppendBoilerplate(file, nil, written, begins, rows))
	require.NoError(t, file.Close())
	r, err := Load(cfg)
	require.NoError(t, err)
	return r
}

func TestBoilerplateSentencesAreLeftOut(t *testing.T) {
	r := recipeWith(t, page.Sentence{Publisher: "courier", Articles: 40, Text: notice},
		page.Sentence{Publisher: page.AllPublishers, Articles: 40, Text: consent},
		page.Sentence{Publisher: page.NoPublisher, Articles: 12, Text: zhNotice})
	require.Equal(t, testRecipe(t).ID(), r.ID(), "a new table keeps the index")
	plain, _ := r.Fingerprint(enArticle, article.Origin{Publisher: "courier"})
	site := consent + " " + enArticle + "\n" + strings.ToUpper(notice) + "\n" + zhNotice

	of := func(publisher string, at time.Time) article.Article {
		a, _ := r.Fingerprint(site, article.Origin{Publisher: publisher, Time: at})
		return a
	}
	before := of("courier", begins.Add(-time.Millisecond))
	without, _ := testRecipe(t).Fingerprint(site, article.Origin{Publisher: "courier"})
	require.Equal(t, without, before, "no row counts yet")

	courier := of("courier", begins)
	require.Equal(t, len(text.Clean(notice))+len(text.Clean(consent)), courier.BoilerplateBytes-2,
		"with a space and a line end")
	require.NotEqual(t, before.SimHash, courier.SimHash)
	require.Equal(t, courier, of("courier", begins.Add(1000*time.Hour)))
	require.Equal(t, courier, of("courier", time.Time{}), "a text without a record")
	require.InDelta(t, float64(courier.BoilerplateBytes)/float64(courier.CleanBytes), courier.LeftOut(), 1e-9)

	require.Less(t, of("herald", begins).BoilerplateBytes, courier.BoilerplateBytes,
		"another publisher: its own notice stays")
	none := of("", begins)
	require.Equal(t, len(text.Clean(zhNotice))+len(text.Clean(consent)), none.BoilerplateBytes-1)

	whole, _ := r.Fingerprint(consent+" "+enArticle, article.Origin{Publisher: "courier", Time: begins})
	require.Equal(t, plain.SimHash, whole.SimHash)
	require.Equal(t, plain.Signature, whole.Signature)
	require.NotEqual(t, plain.Digest, whole.Digest, "an exact copy is a copy of the whole page")
	require.Equal(t, r.Weights(enArticle, article.Origin{}), r.Weights(consent+"\n"+enArticle, article.Origin{}))
}

func TestPageOfBoilerplateOnlyIsLittleText(t *testing.T) {
	r := recipeWith(t, page.Sentence{Publisher: page.AllPublishers, Articles: 40, Text: notice},
		page.Sentence{Publisher: page.AllPublishers, Articles: 40, Text: consent})
	a, _ := r.Fingerprint(notice+" "+consent, article.Origin{})
	b, _ := r.Fingerprint(consent, article.Origin{})
	for _, only := range []article.Article{a, b} {
		require.True(t, only.LittleText)
		require.False(t, only.Empty)
		require.Equal(t, only.CleanBytes, only.BoilerplateBytes)
	}
	require.NotEqual(t, a.Digest, b.Digest)
	require.NotEqual(t, a.Fingerprint, b.Fingerprint)
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
