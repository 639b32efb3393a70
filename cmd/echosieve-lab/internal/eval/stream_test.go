package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/tables"
	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
)

func TestEvalStream(t *testing.T) {
	html := filepath.Join(t.TempDir(), "report.html")
	args := []string{"stream", "--docs", evalDocs}
	r := evaluated[figures.StreamResult](t, append(args, "--html", html, "--min-caught", "0.8", "--max-dropped", "0",
		"--max-wrong-original", "0")...)
	docs := commandtest.Read(t, evalDocs)
	lines := strings.Count(docs, "\n")
	require.Equal(t, lines-1, r.Articles, "without the ambiguous one")
	require.Equal(t, []int{1, 1}, []int{r.Skipped, r.Dead})
	require.Equal(t, []string{"en", "zh"}, slices.Sorted(maps.Keys(r.Languages)))
	total := r.Total()
	require.Equal(t, lines-2, total.Copies+total.Originals)
	require.Equal(t, strings.Count(docs, `"dup_of"`), total.Copies)
	for _, kind := range []string{"exact", "fullwidth", "html", "traditional"} {
		require.Equal(t, r.Kinds[kind].Copies, r.Kinds[kind].Caught, kind)
		require.NotZero(t, r.Kinds[kind].Copies, kind)
	}
	require.GreaterOrEqual(t, r.Delay.Median, 3600., "articles come an hour after each other")
	require.GreaterOrEqual(t, r.Delay.P90, r.Delay.Median)
	require.Contains(t, commandtest.Read(t, html), "originals dropped")

	out, _ := runEval(t, command.ExitOK, args...)
	require.Contains(t, out, "\nlookalike ")
	// Within a window of a minute nothing repeats.
	out, errOut := runEval(t, command.ExitNo, append(args, "--json", "--window", "1m", "--min-caught", "0.5")...)
	require.Contains(t, errOut, "language zh, 0 is below 0.5")
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Zero(t, r.Total().Caught)
}

const (
	storm = `A storm tore roofs from forty houses in the harbour district on Tuesday evening, the fire brigade said, while ferries to the outer islands stayed in port and the railway bridge was closed until engineers had inspected its northern pillars.`
	bees  = `Beekeepers counted fifty hives on office roofs this summer, twice as many as a year ago, and sold the honey at the market hall, where a school class explained to customers how to plant balconies for insects that pollinate gardens.`
	choir = `The cathedral choir will sing unknown motets by a forgotten composer whose manuscripts a librarian discovered behind a cupboard last winter; tickets for the spring concert were sold within minutes, and a second evening is planned.`
)

func newArticle(id, text, labels string) string {
	quoted := func(s string) string {
		out, _ := json.Marshal(s) // a string has a JSON form
		return string(out)
	}
	return fmt.Sprintf(`{"id":%s,"title":%s,"text":%s%s}`, quoted(id), quoted("Title of "+id), quoted(text), labels)
}

// Labels against verdicts that are certain: equal texts repeat, others do not.
func TestEvalStreamLabels(t *testing.T) {
	docs := writeLines(t,
		newArticle("storm", storm, `,"ts":1700000000,"lang":"en"`),
		newArticle("storm-again", storm, `,"ts":1700000060.5,"lang":"en","dup_of":"storm","kind":"exact"`),
		newArticle("choir", choir, `,"ts":1700000100`),
		newArticle("not-labelled", choir, `,"ts":1700000160,"lang":"en"`), // a dropped original
		// caught, as a copy of something else
		newArticle("wrong", storm, `,"ts":1700000200,"lang":"en","dup_of":"choir"`),
		newArticle("late", storm, `,"ts":1800000000,"lang":"en","dup_of":"storm"`), // missed: beyond the window
		// would make the next one a dropped original
		newArticle("doubtful", choir, `,"ts":1800000000,"ambig":true`),
		newArticle("orphan", choir, `,"ts":1800000001,"lang":"en","dup_of":"doubtful"`),   // the first of its cluster
		newArticle("orphan-2", choir, `,"ts":1800000002,"lang":"en","dup_of":"doubtful"`), // a copy of the one before
		`{"id":"no-text","ts":1800000003}`,                                                // dead
		newArticle("of-dead", bees, `,"ts":1800000004,"lang":"en","dup_of":"no-text"`),    // an original again
	)
	out, errOut := runEval(t, command.ExitNo, "stream", "--docs", docs, "--json", "--max-dropped", "0",
		"--max-wrong-original", "0")
	require.Contains(t, errOut, "originals dropped, 1 is above 0; number of wrong originals, 1 is above 0")
	var r figures.StreamResult
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, map[string]figures.StreamCounts{
		"en":      {Copies: 4, Caught: 3, Originals: 4, Dropped: 1, WrongOriginal: 1},
		"unknown": {Originals: 1},
	}, r.Languages)
	require.Equal(t, figures.StreamCounts{Copies: 1, Caught: 1}, r.Kinds["exact"])
	require.Equal(t, 2, r.OriginalMissing)
	require.Equal(t, []figures.Repeat{{
		ID: "not-labelled", Title: "Title of not-labelled", Language: "en", Kind: "original",
		OriginalID: "choir", OriginalTitle: "Title of choir", Reason: "digest",
	}}, r.Dropped)
	require.Equal(t, []int{1, 1}, []int{len(r.Wrong), len(r.Missed)})
	require.Equal(t, []string{"storm", "late"}, []string{r.Wrong[0].OriginalID, r.Missed[0].ID})
	require.Equal(t, -1, r.Missed[0].Distance)
	require.Equal(t, figures.Delay{Median: 60.5, P90: 100}, r.Delay)
}

// Figures by publisher: the field, else the host of the address; the largest publisher first, small ones only in JSON.
func TestEvalStreamPublishers(t *testing.T) {
	docs := []string{
		newArticle("storm", storm, `,"source":"Harbour Daily"`),
		newArticle("storm-again", storm, `,"source":"Harbour Daily","dup_of":"storm"`),
		newArticle("choir", choir, `,"url":"https://choir.example:8443/spring?x=1"`),
		newArticle("choir-dropped", choir, `,"url":"https://other.example/","source":"Harbour Daily"`),
		newArticle("bees", bees, `,"url":"%zz"`),
	}
	for i := range tables.MostListed {
		docs = append(docs, newArticle(fmt.Sprint("s", i), fmt.Sprintf("%d %s %d", i, bees, i),
			fmt.Sprintf(`,"source":"site-%02d"`, i)))
	}
	file, html := writeLines(t, docs...), filepath.Join(t.TempDir(), "report.html")
	r := evaluated[figures.StreamResult](t, "stream", "--docs", file, "--html", html)
	require.Equal(t, figures.StreamCounts{Copies: 1, Caught: 1, Originals: 2, Dropped: 1},
		r.Publishers["Harbour Daily"])
	require.Equal(t, []int{1, 1}, []int{r.Publishers["choir.example"].Originals, r.Publishers["unknown"].Originals})
	require.Len(t, r.Publishers, tables.MostListed+3)
	require.Equal(t, []string{"Harbour Daily", "choir.example", "site-00"}, r.LargestPublishers()[:3])
	require.Contains(t, commandtest.Read(t, html), "<td>choir.example</td>")

	out, _ := runEval(t, command.ExitOK, "stream", "--docs", file)
	require.Contains(t, out, "\nHarbour Daily ")
	require.Contains(t, out, "and 3 smaller ones, see --json")
}

func TestEvalStreamBadInput(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"does not come before it",
			[]string{"--docs", writeLines(t, newArticle("a", storm, `,"dup_of":"b"`), newArticle("b", choir, ""))}},
		{"does not come before it", []string{"--docs", writeLines(t, newArticle("a", storm, `,"dup_of":"a"`))}},
		{"in all lines or in none",
			[]string{"--docs", writeLines(t, newArticle("a", storm, `,"ts":1`), newArticle("b", choir, ""))}},
		{"seconds since 1970", []string{"--docs", writeLines(t, newArticle("a", storm, `,"ts":1700000000000`))}},
		{"seconds since 1970", []string{"--docs", writeLines(t, newArticle("a", storm, `,"ts":"yesterday"`))}},
		{"/nonexistent", []string{"--docs", "/nonexistent"}},
		{`required flag(s) "docs" not set`, nil},
		{"--min-caught", []string{"--docs", evalDocs, "--min-caught", "95"}},
	} {
		_, errOut := runEval(t, command.ExitFailed, append([]string{"stream"}, c.args...)...)
		require.Contains(t, errOut, c.says)
	}
}
