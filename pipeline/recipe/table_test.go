package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
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
func recipeWith(t *testing.T, rows ...Sentence) *Recipe {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Boilerplate = filepath.Join(t.TempDir(), "table.tsv")
	file, err := os.Create(cfg.Boilerplate)
	require.NoError(t, err)
	require.NoError(t, AppendBoilerplate(file, nil, written, begins, rows))
	require.NoError(t, file.Close())
	r, err := Load(cfg)
	require.NoError(t, err)
	return r
}

func TestBoilerplateSentencesAreLeftOut(t *testing.T) {
	r := recipeWith(t, Sentence{"courier", 40, notice}, Sentence{AllSources, 40, consent}, Sentence{NoSource, 12, zhNotice})
	require.Equal(t, testRecipe(t).ID(), r.ID(), "a new table keeps the index")
	plain, _ := r.Fingerprint(enArticle, article.Origin{})
	page := consent + " " + enArticle + "\n" + strings.ToUpper(notice) + "\n" + zhNotice

	of := func(source string, at time.Time) article.Article {
		a, _ := r.Fingerprint(page, article.Origin{Source: source, Time: at})
		return a
	}
	before := of("courier", begins.Add(-time.Millisecond))
	without, _ := testRecipe(t).Fingerprint(page, article.Origin{})
	require.Equal(t, without, before, "no row counts yet")

	courier := of("courier", begins)
	require.Equal(t, len(Clean(notice))+len(Clean(consent)), courier.BoilerplateBytes-2, "with a space and a line end")
	require.NotEqual(t, before.SimHash, courier.SimHash)
	require.Equal(t, courier, of("courier", begins.Add(1000*time.Hour)))
	require.Equal(t, courier, of("courier", time.Time{}), "a text without a record")
	require.InDelta(t, float64(courier.BoilerplateBytes)/float64(courier.CleanBytes), courier.LeftOut(), 1e-9)

	require.Less(t, of("herald", begins).BoilerplateBytes, courier.BoilerplateBytes, "another source: its own notice stays")
	none := of("", begins)
	require.Equal(t, len(Clean(zhNotice))+len(Clean(consent)), none.BoilerplateBytes-1)

	whole, _ := r.Fingerprint(consent+" "+enArticle, article.Origin{Source: "courier", Time: begins})
	require.Equal(t, plain.SimHash, whole.SimHash)
	require.Equal(t, plain.Signature, whole.Signature)
	require.NotEqual(t, plain.Digest, whole.Digest, "an exact copy is a copy of the whole page")
	require.Equal(t, r.Weights(enArticle, article.Origin{}), r.Weights(consent+"\n"+enArticle, article.Origin{}))
}

// The same page is an exact copy as long as the same rows count for both articles.
func TestExactCopiesStayExact(t *testing.T) {
	r := recipeWith(t, Sentence{"courier", 40, notice}, Sentence{AllSources, 40, consent})
	digest := func(text, source string) article.Digest {
		a, _ := r.Fingerprint(text, article.Origin{Source: source, Time: begins})
		return a.Digest
	}
	page := consent + "\n" + enArticle + "\n" + notice
	require.Equal(t, digest(page, "courier"), digest(strings.ReplaceAll(page, ",", " ,"), "courier"))
	require.Equal(t, digest(consent+"\n"+enArticle, "courier"), digest(consent+"\n"+enArticle, "herald"))
	require.NotEqual(t, digest(page, "courier"), digest(enArticle, "courier"))
}

func TestPageOfBoilerplateOnlyIsLittleText(t *testing.T) {
	r := recipeWith(t, Sentence{AllSources, 40, notice}, Sentence{AllSources, 40, consent})
	a, _ := r.Fingerprint(notice+" "+consent, article.Origin{})
	b, _ := r.Fingerprint(consent, article.Origin{})
	for _, page := range []article.Article{a, b} {
		require.True(t, page.LittleText)
		require.False(t, page.Empty)
		require.Equal(t, page.CleanBytes, page.BoilerplateBytes)
	}
	require.NotEqual(t, a.Digest, b.Digest)
	require.NotEqual(t, a.Fingerprint, b.Fingerprint)
}

func TestRowsCanEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.tsv")
	var b strings.Builder
	require.NoError(t, AppendBoilerplate(&b, nil, written, begins, []Sentence{{"courier", 40, notice}}))
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	table, err := ReadBoilerplate(path)
	require.NoError(t, err)
	require.True(t, table.Has("courier", Clean(notice)))
	require.False(t, table.Has("herald", Clean(notice)))

	later := begins.Add(48 * time.Hour)
	require.NoError(t, AppendBoilerplate(&b, table, begins, later, []Sentence{{"courier", 0, notice}}))
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	table, err = ReadBoilerplate(path)
	require.NoError(t, err)
	require.False(t, table.Has("courier", Clean(notice)))
	sentence := appendNormalised(nil, Clean(notice))
	require.True(t, table.matches(sentence, article.Origin{Source: "courier", Time: later.Add(-time.Second)}))
	require.False(t, table.matches(sentence, article.Origin{Source: "courier", Time: later}))
	count, latest := table.Rows()
	require.Equal(t, 2, count)
	require.Equal(t, later, latest)

	require.ErrorContains(t, AppendBoilerplate(&b, table, written, begins, nil), "correct the clock")
	require.ErrorContains(t, AppendBoilerplate(&b, table, later, later, nil), "begin later")
}

func TestBadTables(t *testing.T) {
	const head = "format\t1\nwritten\t2026-05-04T12:00:00Z\n"
	for text, want := range map[string]string{
		"":                   "is empty",
		"# a comment\n":      "is empty",
		"2026-05-04\ta\tb\n": "the first row must be",
		"format\t2\n":        "format 2, known: 1",
		"format\t1\n2026-05-04T13:00:00Z\tcourier\t3\tNo advice.\n":           `a row "written" with a time must stand above`,
		"format\t1\nwritten\tyesterday\n":                                     "is no time such as",
		head + "2026-05-04T12:00:00Z\tcourier\t3\tNo advice.\n":               "rows begin after their roll-out",
		head + "2026-05-04T11:00:00Z\tcourier\t3\tNo advice.\n":               "rows begin after their roll-out",
		head + "tomorrow\tcourier\t3\tNo advice.\n":                           "is no time such as",
		head + "2026-05-04T13:00:00Z\tcourier\tmany\tNo advice.\n":            "is not a number of articles",
		head + "2026-05-04T13:00:00Z\tcourier\t3\t...\n":                      "the sentence is empty",
		head + "2026-05-04T13:00:00Z\tcourier\t3\tNo advice. No liability.\n": `put "no advice." into a row of its own`,
		head + "2026-05-04T13:00:00Z courier 3 No advice.\n":                  "1 fields with tabs",
		head + "written\t2026-05-04T11:59:59Z\n":                              "add rows at the end",
	} {
		cfg := DefaultConfig()
		cfg.Boilerplate = filepath.Join(t.TempDir(), "table.tsv")
		require.NoError(t, os.WriteFile(cfg.Boilerplate, []byte(text), 0o600))
		_, err := Load(cfg)
		require.ErrorContains(t, err, want, "%q", text)
		require.ErrorContains(t, err, "boilerplate file")
	}
}
