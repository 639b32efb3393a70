package sample_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/sample"
)

type article struct {
	ID, Title, Source, URL, Kind string
	Text                         json.RawMessage
	CopyOf                       string `json:"copy_of"`
}

// load returns the articles of the sample and the number of lines that are no JSON object with an id.
func load(t *testing.T) (articles []article, noArticle int) {
	t.Helper()
	for line := range bytes.Lines(sample.News) {
		var a article
		if err := json.Unmarshal(line, &a); err != nil || a.ID == "" {
			noArticle++
			continue
		}
		articles = append(articles, a)
	}
	return articles, noArticle
}

func TestEveryKindIsThere(t *testing.T) {
	articles, noArticle := load(t)
	require.GreaterOrEqual(t, len(articles)+noArticle, 70)
	require.Equal(t, 2, noArticle, "one line is not JSON, one is an empty object")

	count := map[string]int{}
	for _, a := range articles {
		count[a.Kind]++
	}
	for kind, atLeast := range map[string]int{
		"original": 18, "lookalike": 12, "flash": 4, "source_line": 5, "shortened": 4, "retitled": 2,
		"reworded": 4, "traditional": 3, "html": 3, "fullwidth": 2, "exact": 4,
	} {
		require.GreaterOrEqual(t, count[kind], atLeast, kind)
	}
	require.Equal(t, 3, count["broken"])
}

func TestArticles(t *testing.T) {
	articles, _ := load(t)
	kinds := map[string]string{}
	chinese := 0
	for _, a := range articles {
		require.NotContains(t, kinds, a.ID, "ids are unique")
		require.NotEmpty(t, a.Title, a.ID)
		require.NotEmpty(t, a.Source, a.ID)
		require.True(t, strings.HasPrefix(a.URL, "https://news.example/"), a.ID)
		if a.CopyOf != "" {
			require.Contains(t, []string{"original", "flash"}, kinds[a.CopyOf], "%s repeats an earlier original", a.ID)
		}
		isFirst := a.Kind == "original" || a.Kind == "lookalike" || a.Kind == "broken"
		require.False(t, isFirst && a.CopyOf != "", "%s: a copy is of another kind", a.ID)
		require.False(t, !isFirst && a.Kind != "flash" && a.CopyOf == "", "%s: copy_of is missing", a.ID)
		kinds[a.ID] = a.Kind
		if strings.HasPrefix(a.ID, "zh-") {
			chinese++
		}
		if a.Kind == "broken" {
			continue
		}
		var text string
		require.NoError(t, json.Unmarshal(a.Text, &text), a.ID)
		isShort := a.Kind == "flash" || kinds[a.CopyOf] == "flash"
		if n := utf8.RuneCountInString(text); isShort {
			require.Less(t, n, 50, a.ID)
		} else {
			require.GreaterOrEqual(t, n, 120, a.ID)
			require.LessOrEqual(t, n, 480, a.ID)
		}
	}
	require.Greater(t, chinese, 30)
	require.Greater(t, len(articles)-chinese, 20)
}
