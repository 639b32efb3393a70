package eval

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/sample"
)

var update = flag.Bool("update", false, "rewrite generated files instead of comparing them")

// The files of the evaluation's tests, made from the shipped sample by TestEvalTestdata.
const (
	evalDocs   = "testdata/stream.jsonl"
	evalPairsF = "testdata/pairs.tsv"
	evalIgnore = "testdata/ignore.tsv"
)

// sampleArticle is an article of the sample with the labels of eval stream.
type sampleArticle struct {
	TS        int64  `json:"ts"`
	ID        string `json:"id"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	Publisher string `json:"source,omitempty"`
	Lang      string `json:"lang"`
	Kind      string `json:"kind"`
	DupOf     string `json:"dup_of,omitempty"`
	Ambig     bool   `json:"ambig,omitempty"`
	CopyOf    string `json:"copy_of,omitempty"`
}

// evalTestdata makes the files: every article of the sample, an hour after the one before it, and pairs of copies
// with their originals and of look-alikes with each other. Two lines are added: an article that is ambiguous, and one
// that is no JSON.
func evalTestdata(t *testing.T) map[string][]byte {
	t.Helper()
	var stream, pairs, ignore bytes.Buffer
	pairs.WriteString("id_a\tid_b\tlabel\tkind\tnote\n")
	ignore.WriteString("id_a\tid_b\n")
	var lookalikes []string
	ts := int64(1_700_000_000)
	for line := range sample.Lines() {
		var a sampleArticle
		if json.Unmarshal(line, &a) != nil || a.ID == "" || a.Kind == "broken" {
			continue
		}
		a.TS, a.DupOf, a.CopyOf, a.Lang = ts, a.CopyOf, "", a.ID[:2]
		ts += 3600
		encoded, err := json.Marshal(a)
		require.NoError(t, err)
		fmt.Fprintf(&stream, "%s\n", encoded)
		switch {
		case a.DupOf != "":
			fmt.Fprintf(&pairs, "%s\t%s\t1\t%s\tx\n", a.DupOf, a.ID, a.Kind)
		case a.Kind == "lookalike":
			lookalikes = append(lookalikes, a.ID)
		}
	}
	fmt.Fprintf(&stream, `{"ts":%d,"id":"doubtful","title":"?","text":"Nobody can tell.","lang":"en","ambig":true}`+"\nnot JSON\n", ts)
	for i, a := range lookalikes[1:] {
		fmt.Fprintf(&pairs, "%s\t%s\t0\tlookalike\tx\n", lookalikes[i], a)
	}
	fmt.Fprintf(&pairs, "zh-metro\tzh-tea\t-1\tpartial\tx\nzh-metro\tzh-metro-src\t0\tmislabelled\tx\n")
	fmt.Fprintf(&ignore, "zh-metro-src\tzh-metro\n")
	return map[string][]byte{evalDocs: stream.Bytes(), evalPairsF: pairs.Bytes(), evalIgnore: ignore.Bytes()}
}

func TestEvalTestdata(t *testing.T) {
	for name, want := range evalTestdata(t) {
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, want, 0o644))
		}
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "regenerate: go test ./cmd/echosieve-lab/internal/eval -run TestEvalTestdata -update")
	}
}

// runEval runs an eval command and returns its exit code, standard output and standard error.
func runEval(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return commandtest.Run(t, command.Program(&cobra.Command{Use: "echosieve-lab"}, Command()), "", append([]string{"eval"}, args...)...)
}

// writeLines writes a file of JSON Lines.
func writeLines(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "docs.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return name
}
