package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve/internal/eval"
)

func TestEvalPairs(t *testing.T) {
	args := []string{"pairs", "--docs", evalDocs, "--pairs", evalPairsF, "--ignore", evalIgnore}
	html := filepath.Join(t.TempDir(), "report.html")
	code, out, errOut := runEval(t, append(args, "--json", "--html", html,
		"--min-recall", "0.8", "--min-precision", "0.9", "--min-f1", "0.8", "--min-candidate-recall", "0.8", "--max-fpr", "0")...)
	require.Equal(t, exitOK, code, errOut)
	requireShape(
		t, out, []string{"kinds"},
		"candidate_recall", "distance", "distance.false_positive_rate", "distance.k", "distance.precision", "distance.recall",
		"docs", "f1", "false_positive_rate", "kinds", "kinds.*", "kinds.*.flagged", "kinds.*.label", "kinds.*.n",
		"kinds.*.possible", "pairs", "precision", "recall",
	)
	var r eval.PairsResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Zero(t, r.FalsePositiveRate)
	require.Len(t, r.Distance, 33)
	require.NotContains(t, r.Kinds, "mislabelled", "its pair is ignored, in whatever order it is written")
	require.Equal(t, eval.KindResult{Label: -1, N: 1}, r.Kinds["partial"])
	for _, kind := range []string{"exact", "fullwidth", "html", "traditional"} {
		require.Equal(t, r.Kinds[kind].N, r.Kinds[kind].Flagged, kind)
		require.NotZero(t, r.Kinds[kind].N, kind)
	}
	require.Contains(t, errOut, "1 lines hold no article", "the line that is no JSON")
	page, err := os.ReadFile(html)
	require.NoError(t, err)
	require.Contains(t, string(page), "stream.jsonl")

	code, out, _ = runEval(t, args...)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "candidate recall")
	require.Contains(t, out, "│ lookalike ")
}

func TestEvalPairsExitCodes(t *testing.T) {
	args := []string{"pairs", "--docs", evalDocs, "--pairs", evalPairsF} // with a copy that is labelled as none
	twice := writeLines(t, `{"id":"a","text":"one"}`, `{"id":"a","text":"two"}`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append(args, "--min-recall", "1", "--max-fpr", "0"), exitNo, "is above 0"},
		{append(args, "--min-precision", "1"), exitNo, "precision 0.9"},
		{append(args, "--min-recall", "98"), exitFailed, "must be between 0 and 1"},
		{append(args, "--max-fpr", "NaN"), exitFailed, "must be between 0 and 1"},
		{append(args, "--html", "/nonexistent/report.html"), exitFailed, "report"},
		{append(args, "extra"), exitFailed, "extra"},
		{[]string{"pairs", "--docs", evalDocs}, exitFailed, `"pairs" not set`},
		{[]string{"pairs", "--docs", evalDocs, "--pairs", evalDocs}, exitFailed, "stream.jsonl:1: want id_a"},
		{[]string{"pairs", "--docs", "/nonexistent", "--pairs", evalPairsF}, exitFailed, "/nonexistent"},
		{[]string{"pairs", "--docs", twice, "--pairs", evalPairsF}, exitFailed, `two articles have the id "a"`},
		{[]string{"pairs", "--docs", writeLines(t, "{}"), "--pairs", evalPairsF}, exitFailed, "no such article"},
	} {
		code, _, errOut := runEval(t, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errOut)
		require.Contains(t, errOut, c.says, c.args)
	}
}

// A page is written as a whole or not at all, and to a pipe as well.
func TestWriteReport(t *testing.T) {
	require.Equal(t, exitOK, execute(t.Context(), []string{"eval", "threshold", "--docs", evalDocs, "--html", os.DevNull},
		nil, devNull{}, devNull{}))
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice, "it is still the device")
}

type devNull struct{}

func (devNull) Write(b []byte) (int, error) { return len(b), nil }
