package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve/internal/eval"
	"echosieve/sample"
)

// samplePairs writes the sample's articles, and as labelled pairs its copies with their originals and its
// look-alikes with the first article.
func samplePairs(t *testing.T) (docs, pairs string, copies, others int) {
	t.Helper()
	var articles, rows strings.Builder
	rows.WriteString("id_a\tid_b\tlabel\tkind\n")
	first := ""
	for line := range sample.Lines() {
		var a struct {
			ID, Kind string
			CopyOf   string `json:"copy_of"`
		}
		if json.Unmarshal(line, &a) != nil || a.ID == "" || a.Kind == "broken" {
			continue
		}
		fmt.Fprintf(&articles, "%s\n", line)
		switch {
		case a.CopyOf != "":
			fmt.Fprintf(&rows, "%s\t%s\t1\t%s\n", a.CopyOf, a.ID, a.Kind)
			copies++
		case a.Kind == "lookalike":
			fmt.Fprintf(&rows, "%s\t%s\t0\t%s\n", first, a.ID, a.Kind)
			others++
		case first == "":
			first = a.ID
		}
	}
	dir := t.TempDir()
	docs, pairs = filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "pairs.tsv")
	require.NoError(t, os.WriteFile(docs, []byte(articles.String()), 0o600))
	require.NoError(t, os.WriteFile(pairs, []byte(rows.String()), 0o600))
	return docs, pairs, copies, others
}

func TestEvalPairs(t *testing.T) {
	docs, pairs, copies, others := samplePairs(t)
	var out, errOut bytes.Buffer
	args := []string{"eval", "pairs", "--docs", docs, "--pairs", pairs}
	require.Equal(t, exitOK, execute(t.Context(), append(args, "--json", "--min-recall", "0.9", "--max-fpr", "0"), nil, &out, &errOut), errOut.String())
	var r eval.PairsResult
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, copies+others, r.Pairs)
	require.Zero(t, r.FalsePositiveRate)
	require.InDelta(t, 1, r.Recall, 1e-9)
	require.Less(t, r.Distance[3].Recall, 0.95, "the fingerprints alone do not tell")
	require.Equal(t, others, r.Kinds["lookalike"].N)

	out.Reset()
	require.Equal(t, exitOK, execute(t.Context(), args, nil, &out, &errOut))
	require.Contains(t, out.String(), "recall 1.0")
	require.Equal(t, exitNo, execute(t.Context(), append(args, "--min-recall", "1", "--detection.near", "1"), nil, &out, &errOut))
	require.Contains(t, errOut.String(), "is below 1")
	require.Equal(t, exitFailed, execute(t.Context(), []string{"eval", "pairs", "--docs", docs, "--pairs", docs}, nil, &out, &errOut))
	require.Contains(t, errOut.String(), "docs.jsonl:1: want id_a")
}
