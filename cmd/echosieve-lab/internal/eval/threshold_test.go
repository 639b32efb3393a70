package eval

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
)

func TestEvalThreshold(t *testing.T) {
	html := filepath.Join(t.TempDir(), "report.html")
	args := []string{"threshold", "--docs", evalDocs, "--span", "30", "--each", "2"}
	code, out, errOut := runEval(t, append(args, "--json", "--html", html)...)
	require.Equal(t, command.ExitOK, code, errOut)
	var r figures.ThresholdResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.GreaterOrEqual(t, r.Exact, 4)
	require.Positive(t, r.LittleText)
	require.NotEmpty(t, r.Samples)
	flagged := r.Exact
	for _, l := range r.Limits {
		flagged += l.Pairs
		require.Equal(t, flagged, l.Flagged, l.Limit)
	}
	require.Contains(t, readFile(t, html), "<mark>")

	_, again, _ := runEval(t, append(args, "--json")...)
	require.Equal(t, out, again, "the same seed draws the same pairs")

	code, out, _ = runEval(t, args...)
	require.Equal(t, command.ExitOK, code)
	require.Contains(t, out, r.Current+"  <- now")
	require.Contains(t, out, "Pair 1 of ")
}

func TestEvalThresholdFlags(t *testing.T) {
	var r figures.ThresholdResult
	_, out, _ := runEval(t, "threshold", "--docs", evalDocs, "--json", "--limit", "3", "--each", "0")
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 3, r.Docs)
	require.Empty(t, r.Samples)
	for _, args := range [][]string{{"--each", "-1"}, {"--limit", "0"}, {"--span", "-1"}} {
		code, _, _ := runEval(t, append([]string{"threshold", "--docs", evalDocs}, args...)...)
		require.Equal(t, command.ExitFailed, code, args)
	}
}

// Where distance alone decides, it is the distance that is to be chosen.
func TestEvalThresholdOfClassicRecipe(t *testing.T) {
	var r figures.ThresholdResult
	code, out, errOut := runEval(t, "threshold", "--docs", evalDocs, "--json", "--recipe", "classic-fnv")
	require.Equal(t, command.ExitOK, code, errOut)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, "3", r.Current)
	require.Len(t, r.Limits, 33)
}

// Control characters of an article must not reach the terminal.
func TestTextsDriveNoTerminal(t *testing.T) {
	require.Equal(t, "中文", beginning("中文中文", 2))
	require.Equal(t, "中文", beginning("中文", 2))
	docs := writeLines(
		t,
		newArticle("a\x1b]0;a", storm, ""), newArticle("b\x1b[2J", storm+" \x1b[31mRed.", ""),
	)
	for _, args := range [][]string{{"stream", "--docs", docs}, {"threshold", "--docs", docs, "--span", "50"}} {
		code, out, errOut := runEval(t, args...)
		require.Equal(t, command.ExitOK, code, errOut)
		require.NotContains(t, out, "\x1b", args)
		require.Contains(t, out, "b<U+001B>[2J", "it is shown")
	}
}
