package eval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
)

// The script's recipe drops the copy whose words it does not tell apart, and keeps one that has another beginning.
func TestEvalVersus(t *testing.T) {
	docs := writeLines(t, newArticle("a", storm, ""), newArticle("again", storm, ""),
		newArticle("reworded", "RIVERTON (Press) - "+storm+" The harbour stayed closed.", ""), `{"id":"none"}`,
		newArticle("other", "Researchers said that a new variety of barley needs a third less water than those of today.", ""))
	page := filepath.Join(t.TempDir(), "versus.html")
	code, out, errOut := runEval(t, "versus", docs, "--json", "--html", page)
	require.Equal(t, command.ExitOK, code, errOut)
	var r figures.VersusResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, [2]string{"news", "classic-python-200"}, r.Recipes)
	require.Equal(t, []int{5, 1, 1, 1, 0, 2}, []int{r.Articles, r.Dead, r.Both, r.Only[0], r.Only[1], r.Neither})
	require.Len(t, r.Samples, 1)
	require.Equal(t, []string{"news", "a", "reworded"},
		[]string{r.Samples[0].Recipe, r.Samples[0].Earlier.ID, r.Samples[0].Later.ID})
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "dropped only by news")

	code, out, _ = runEval(t, "versus", docs, "--each", "0", "--recipe", "classic-fnv")
	require.Equal(t, command.ExitOK, code)
	require.Contains(t, out, "only classic-fnv")
	for want, args := range map[string][]string{
		"name the file of articles": {},
		"name another one":          {docs, "--recipe", "news"},
		"must be one of news,":      {docs, "--recipe", "new"},
		"must not be negative":      {docs, "--each", "-1"},
	} {
		code, _, errOut := runEval(t, append([]string{"versus"}, args...)...)
		require.Equal(t, command.ExitFailed, code)
		require.Contains(t, errOut, want)
	}
}

func TestSamplesOfVersusAreSpread(t *testing.T) {
	drop := figures.StreamVerdict{Flagged: true, Original: 0}
	verdicts := [2][]figures.StreamVerdict{make([]figures.StreamVerdict, 10), make([]figures.StreamVerdict, 10)}
	for i := 1; i < 9; i++ {
		verdicts[0][i] = drop
	}
	verdicts[1][9] = drop
	verdicts[0][8].Published = true // in a topic that is read
	r := figures.Versus([2]string{"a", "b"}, verdicts)
	require.Equal(t, [2]int{7, 1}, r.Only)
	require.Equal(t, 2, r.Neither)
	require.Equal(t, []figures.Dropped{{Article: 1}, {Article: 4}, {Recipe: 1, Article: 9}}, r.Sample(2))
}

// Control characters of an article must not reach the terminal.
func TestTextsDriveNoTerminal(t *testing.T) {
	docs := writeLines(
		t,
		newArticle("a\x1b]0;a", storm, ""), newArticle("b\x1b[2J", "RIVERTON - "+storm+" \x1b[31mRed.", ""),
	)
	for _, args := range [][]string{{"stream", "--docs", docs}, {"versus", docs}} {
		code, out, errOut := runEval(t, args...)
		require.Equal(t, command.ExitOK, code, errOut)
		require.NotContains(t, out, "\x1b", args)
		require.Contains(t, out, "b<U+001B>[2J", "it is shown")
	}
}
