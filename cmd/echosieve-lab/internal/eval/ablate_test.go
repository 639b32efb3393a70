package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
	"echosieve/pipeline/page"
	"echosieve/pipeline/text"
)

// Without the row about numbers, reports with other numbers are joined.
func TestEvalAblate(t *testing.T) {
	report := `The harbour of Larkfield handled 4,200 containers in March, 12 per cent more than in February, Anna Velde said on Monday. Two cranes will arrive before
winter, and the terminal will serve ships of up to 230 metres. The port council had asked for 17 million more, of which 9 million were granted after a long debate.
Dockers had feared for 140 jobs, which stay for now, while pilots complain about shallow water near the eastern pier and want dredgers to come in April.`
	other := strings.NewReplacer("4,200", "3,900", "12", "7", "230", "180", "17", "21", "9 million", "4 million",
		"140", "90").Replace(report)
	docs := writeLines(t, newArticle("a", report, ""), newArticle("b", other, ""),
		newArticle("c", report+" The mayor was there.", ""))
	pairs := writeLines(t, "id_a\tid_b\tlabel\tkind\tbase", "a\tb\t0\tnumbers\tone", "a\tc\t1\tline\tone")
	byName := map[string]figures.Ablation{}
	for _, a := range evaluated[[]figures.Ablation](t, "ablate", "--docs", docs, "--pairs", pairs) {
		byName[a.Off] = a
	}
	require.Equal(t, figures.Change{Pairs: 1, Joined: 1}, byName["none"].Copies)
	require.Equal(t, figures.Change{Pairs: 1}, byName["none"].LookAlikes)
	require.Equal(t, figures.Change{Pairs: 1, Change: 1, Families: 1, Low: 1, High: 1},
		byName["all about numbers"].LookAlikes)
	require.Equal(t, 1, byName["all about numbers"].Kinds["numbers"].Change)
	require.Zero(t, byName["all about numbers"].Copies.Change)
}

// Copies within two menus are joined only if menus do not count.
func TestEvalAblateSwitchesTextRulesOff(t *testing.T) {
	menu := func(first rune) string {
		var lines strings.Builder
		for i := range rune(24) {
			word := strings.Repeat(string(first+i%13), 3) + string('a'+i)
			fmt.Fprintf(&lines, "%s %s%c\n", word, word, first)
		}
		return lines.String()
	}
	report := storm + "\n" + choir + "\n" + bees
	docs := writeLines(t, newArticle("a", menu('a')+"\n"+report, ""), newArticle("b", menu('n')+"\n"+report, ""))
	pairs := writeLines(t, "id_a\tid_b\tlabel\tkind\tbase", "a\tb\t1\tmenu\tone")
	list := evaluated[[]figures.Ablation](t, "ablate", "--docs", docs, "--pairs", pairs)
	require.Equal(t, 1, list[0].Copies.Joined)
	changes := map[string]int{}
	for _, a := range list {
		changes[a.Off] = a.Copies.Change
	}
	out, _ := runEval(t, command.ExitOK, "ablate", "--docs", docs, "--pairs", pairs)
	require.Contains(t, out, "row 3")
	require.Equal(t, -1, changes["text: furniture"])
	require.Zero(t, changes["text: addresses"])
	for _, name := range append(page.Rules(), text.WordLists()...) {
		_, there := changes["text: "+name]
		_, listed := changes["words: "+name]
		require.True(t, there || listed, name)
	}
}

func TestEvalAblateMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		"belong together":     {"--docs", "x"},
		"name labelled pairs": {},
		"--bases is 0":        {"--bases", "0", "x"},
		`--part is "x"`:       {"--part", "x", "x"},
		`--kinds is "x"`:      {"--kinds", "x", "x"},
		":1: ":                {writeLines(t, `{"id":"1"}`)},
		"has no second check": {"--recipe", "classic-fnv", "x"},
	} {
		_, errOut := runEval(t, command.ExitFailed, append([]string{"ablate"}, args...)...)
		require.Contains(t, errOut, want)
	}
}
