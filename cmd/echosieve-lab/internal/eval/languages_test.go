package eval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
)

// englishSample writes the English articles of the sample to a file named en.jsonl.
func englishSample(t *testing.T) string {
	t.Helper()
	var lines strings.Builder
	for line := range strings.Lines(readFile(t, evalDocs)) {
		if strings.Contains(line, `"lang":"en"`) && !strings.Contains(line, "dup_of") {
			lines.WriteString(line)
		}
	}
	name := filepath.Join(t.TempDir(), "en.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(lines.String()), 0o600))
	return name
}

func TestEvalLanguages(t *testing.T) {
	name := englishSample(t)
	args := []string{"languages", "--bases", "8", name}
	code, out, errOut := runEval(t, append(args, "--json")...)
	require.Equal(t, command.ExitOK, code, errOut)
	var r figures.LanguagesResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Len(t, r.Languages, 1)
	l := r.Languages[0]
	require.Equal(t, "en", l.Language)
	require.Equal(t, l.PairsResult, r.All)
	require.Greater(t, l.Recall, 0.6)
	require.Less(t, l.FalsePositiveRate, 0.1)
	require.Equal(t, 8, l.Kinds["words_10"].N)
	require.Equal(t, 8, l.Kinds["words_10"].Interval.Families)
	require.Equal(t, figures.HardNegative, l.Kinds["same_frame_1x"].Label)

	_, again, _ := runEval(t, append(args, "--json")...)
	require.Equal(t, out, again, "the same seed makes the same pairs")

	code, out, errOut = runEval(t, args...)
	require.Equal(t, command.ExitOK, code, errOut)
	require.Regexp(t, `(?m)^en +\d+ +0\.\d{3} `, out)
	require.Contains(t, out, "words_10")
}

func TestEvalLanguagesMistakes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "xx.jsonl")
	require.NoError(t, os.WriteFile(name, []byte("{\"id\":\"1\"}\n"), 0o600))
	for want, args := range map[string][]string{
		"--part is":       {"--part", "third", name},
		"--kinds is":      {"--kinds", "look-alikes", name},
		"--bases must be": {"--bases", "0", name},
		"xx.jsonl:1:":     {name},
		"no such":         {name + "x"},
	} {
		code, _, errOut := runEval(t, append([]string{"languages"}, args...)...)
		require.Equal(t, command.ExitFailed, code, want)
		require.Contains(t, errOut, want)
	}
}
