package sample_test

import (
	"bytes"
	"encoding/json"
	"testing"

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
