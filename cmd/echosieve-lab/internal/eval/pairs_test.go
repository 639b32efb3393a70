package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
)

func TestEvalPairs(t *testing.T) {
	args := []string{"pairs", "--docs", evalDocs, "--pairs", evalPairsF, "--ignore", evalIgnore}
	html := filepath.Join(t.TempDir(), "report.html")
	r := evaluated[figures.PairsResult](t, append(args, "--html", html, "--min-recall", "0.8", "--min-precision", "0.9",
		"--min-f1", "0.8", "--min-candidate-recall", "0.8", "--max-fpr", "0")...)
	require.Zero(t, r.FalsePositiveRate)
	require.Len(t, r.Distance, 33)
	require.NotContains(t, r.Kinds, "mislabelled", "its pair is ignored, in whatever order it is written")
	partial := r.Kinds["partial"]
	require.Equal(t, [4]int{-1, 1, 0, 0}, [4]int{partial.Label, partial.N, partial.Flagged, partial.Possible})
	for _, kind := range []string{"exact", "fullwidth", "html", "traditional"} {
		require.Equal(t, r.Kinds[kind].N, r.Kinds[kind].Flagged, kind)
		require.NotZero(t, r.Kinds[kind].N, kind)
	}
	require.Contains(t, commandtest.Read(t, html), "stream.jsonl")

	out, errOut := runEval(t, command.ExitOK, args...)
	require.Contains(t, errOut, "1 line without an article", "the line that is no JSON")
	require.Contains(t, out, "candidate recall")
	require.Contains(t, out, "\nlookalike ")
}

// A pair may be two versions of one id.
func TestEvalPairsOfOneID(t *testing.T) {
	docs := writeLines(t, newArticle("a", storm, ""), newArticle("b", bees, ""), newArticle("a", storm+" More.", ""),
		newArticle("a", choir, ""))
	pairs := writeLines(t, "id_a\tid_b\tlabel\tkind", "a\ta\t1\tversion", "a\ta#3\t0\trewritten", "b\ta#2\t0\tother")
	r := evaluated[figures.PairsResult](t, "pairs", "--docs", docs, "--pairs", pairs)
	require.Equal(t, []int{3, 1, 2, 0}, []int{r.Pairs, r.Copies, r.LookAlikes, len(r.Wrong)})
	require.EqualValues(t, 1, r.Recall)
}

func TestEvalPairsExitCodes(t *testing.T) {
	args := []string{"pairs", "--docs", evalDocs, "--pairs", evalPairsF} // with a copy that is labelled as none
	twice := writeLines(t, `{"id":"a#2","text":"one"}`, `{"id":"a","text":"two"}`, `{"id":"a","text":"three"}`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append(args, "--min-recall", "1", "--max-fpr", "0"), command.ExitNo, "is above 0"},
		{append(args, "--min-precision", "1"), command.ExitNo, "precision 0.9"},
		{append(args, "--min-recall", "98"), command.ExitFailed, "must be between 0 and 1"},
		{append(args, "--max-fpr", "NaN"), command.ExitFailed, "must be between 0 and 1"},
		{append(args, "--html", "/nonexistent/report.html"), command.ExitFailed, "--html"},
		{append(args, "extra"), command.ExitFailed, "extra"},
		{[]string{"pairs", "--docs", evalDocs}, command.ExitFailed, "belong together"},
		{[]string{"pairs", "--docs", evalDocs, "--pairs", evalDocs}, command.ExitFailed, "stream.jsonl:1: want id_a"},
		{[]string{"pairs", "--docs", "/nonexistent", "--pairs", evalPairsF}, command.ExitFailed, "/nonexistent"},
		{[]string{"pairs", "--docs", twice, "--pairs", evalPairsF}, command.ExitFailed, `"a#2" names two articles`},
		{[]string{"pairs", "--docs", writeLines(t, newArticle("zz", storm, "")), "--pairs", evalPairsF},
			command.ExitFailed, "no such article"},
	} {
		_, errOut := runEval(t, c.code, c.args...)
		require.Contains(t, errOut, c.says, c.args)
	}
}

// The files of the evaluation's tests: the articles of the shipped sample, an hour after each other, one that is
// ambiguous and a line that is no JSON; pairs of copies with their originals and of look-alikes; pairs to ignore.
const (
	evalDocs   = "testdata/stream.jsonl"
	evalPairsF = "testdata/pairs.tsv"
	evalIgnore = "testdata/ignore.tsv"
)

// runEval runs an eval command, which must end with this exit code, and returns its output.
func runEval(t *testing.T, code int, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), "", append([]string{"eval"}, args...)...)
}

// evaluated is runEval with --json, which must succeed.
func evaluated[T any](t *testing.T, args ...string) T {
	t.Helper()
	return commandtest.Answer[T](t, commandtest.Only(Command()), append([]string{"eval"}, args...)...)
}

// writeLines writes a file of JSON Lines.
func writeLines(t *testing.T, lines ...string) string {
	t.Helper()
	return commandtest.File(t, "docs.jsonl", strings.Join(lines, "\n")+"\n")
}

// The script's recipe drops the copy whose words it does not tell apart, and keeps one that has another beginning.
func TestEvalVersus(t *testing.T) {
	docs := writeLines(t, newArticle("a", storm, ""), newArticle("again", storm, ""),
		newArticle("reworded", "RIVERTON (Press) - "+storm+" The harbour stayed closed.", ""), `{"id":"none"}`,
		newArticle("other", "Researchers said that a new variety of barley needs a third less water than those of today.", ""))
	page := filepath.Join(t.TempDir(), "versus.html")
	r := evaluated[figures.VersusResult](t, "versus", docs, "--html", page)
	require.Equal(t, [2]string{"news", "classic-python-200"}, r.Recipes)
	require.Equal(t, []int{5, 1, 1, 1, 0, 2}, []int{r.Articles, r.Dead, r.Both, r.Only[0], r.Only[1], r.Neither})
	require.Len(t, r.Samples, 1)
	require.Equal(t, []string{"news", "a", "reworded"},
		[]string{r.Samples[0].Recipe, r.Samples[0].Earlier.ID, r.Samples[0].Later.ID})
	require.Contains(t, commandtest.Read(t, page), "dropped only by news")

	out, _ := runEval(t, command.ExitOK, "versus", docs, "--each", "0", "--recipe", "classic-fnv")
	require.Contains(t, out, "only classic-fnv")
	for want, args := range map[string][]string{
		"name the file of articles": {},
		"name another one":          {docs, "--recipe", "news"},
		"must be one of news,":      {docs, "--recipe", "new"},
		"must not be negative":      {docs, "--each", "-1"},
	} {
		_, errOut := runEval(t, command.ExitFailed, append([]string{"versus"}, args...)...)
		require.Contains(t, errOut, want)
	}
}

// Pairs are made of articles without labels, the same ones at each run.
func TestEvalPairsOfEdits(t *testing.T) {
	var english []string
	for line := range strings.Lines(commandtest.Read(t, evalDocs)) {
		if strings.Contains(line, `"lang":"en"`) && !strings.Contains(line, "dup_of") {
			english = append(english, strings.TrimSpace(line))
		}
	}
	args := []string{"pairs", "--bases", "8", "--kinds", "edits", writeLines(t, english...)}
	r := evaluated[figures.PairsResult](t, args...)
	require.Greater(t, r.Recall, 0.6)
	require.Less(t, r.FalsePositiveRate, 0.1)
	require.Equal(t, []int{8, 8}, []int{r.Kinds["words_10"].N, r.Kinds["words_10"].Interval.Families})
	require.Equal(t, figures.HardNegative, r.Kinds["same_frame_1x"].Label)
	require.Equal(t, r, evaluated[figures.PairsResult](t, append(args, "--html", os.DevNull)...))
	first := evaluated[figures.PairsResult](t, append(args, "--part", "first")...).Kinds["words_10"].N
	second := evaluated[figures.PairsResult](t, append(args, "--part", "second")...).Kinds["words_10"].N
	require.Equal(t, 8, first+second, "a family belongs to one half")
	out, _ := runEval(t, command.ExitOK, args...)
	require.Contains(t, out, "words_10")
}

// A page is written as a whole or not at all, and to a pipe as well.
func TestWriteReport(t *testing.T) {
	runEval(t, command.ExitOK, "versus", evalDocs, "--html", os.DevNull)
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice, "it is still the device")
}
