package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/command"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
	"echosieve/pipeline/page"
	"echosieve/pipeline/text"
	"echosieve/test/commandtest"
)

func TestEvalPairs(t *testing.T) {
	args := []string{"pairs", "--docs", evalDocs, "--pairs", evalPairsF, "--ignore", evalIgnore}
	html := filepath.Join(t.TempDir(), "report.html")
	r := evaluated[figures.PairsResult](t, append(args, "--html", html, "--min-recall", "0.8", "--min-precision", "0.9",
		"--min-f1", "0.8", "--min-candidate-recall", "0.8", "--max-fpr", "0")...)
	require.Zero(t, r.FalsePositiveRate)
	require.Len(t, r.Curves, 3)
	require.Equal(t, r.Recall, r.Curves[0].Steps[r.Curves[0].Present].Recall)
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

func TestEvalPairsBelowALimit(t *testing.T) {
	for limits, says := range map[string]string{"--min-recall 1 --max-fpr 0": "is above 0",
		"--min-precision 1": "precision 0.9"} {
		// with a copy that is labelled as none
		args := append([]string{"pairs", "--docs", evalDocs, "--pairs", evalPairsF}, strings.Fields(limits)...)
		_, errOut := runEval(t, command.ExitNo, args...)
		require.Contains(t, errOut, says)
	}
}

// The files of the evaluation's tests: the articles of the shipped sample, an hour after each other, one that is
// ambiguous and a line that is no JSON; pairs of copies with their originals and of look-alikes; pairs to ignore.
const (
	evalDocs   = "testdata/stream.jsonl"
	evalPairsF = "testdata/pairs.tsv"
	evalIgnore = "testdata/ignore.tsv"
)

func runEval(t *testing.T, code int, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), "", append([]string{"eval"}, args...)...)
}

func evaluated[T any](t *testing.T, args ...string) T {
	t.Helper()
	return commandtest.Answer[T](t, commandtest.Only(Command()), append([]string{"eval"}, args...)...)
}

func writeLines(t *testing.T, lines ...string) string {
	t.Helper()
	return commandtest.File(t, "docs.jsonl", strings.Join(lines, "\n")+"\n")
}

// The script's recipe drops the copy whose words it does not tell apart, and keeps one that has another beginning.
func TestEvalVersus(t *testing.T) {
	docs := writeLines(t, newArticle("a", storm, ""), newArticle("again", storm, ""),
		newArticle("reworded", "RIVERTON (Press) - "+storm+" The harbour stayed closed.", ""), `{"id":"none"}`,
		newArticle("other", "Researchers said that a new variety of barley needs a third less water than today's.", ""))
	page := filepath.Join(t.TempDir(), "versus.html")
	r := evaluated[figures.VersusResult](t, "versus", docs, "--html", page)
	require.Equal(t, [2]string{"news", "classic-python-200"}, r.Recipes)
	require.Equal(t, []int{5, 1, 1, 1, 0, 2}, []int{r.Articles, r.Dead, r.Both, r.Only[0], r.Only[1], r.Neither})
	require.Len(t, r.Samples, 1)
	require.Equal(t, []string{"news", "a", "reworded"},
		[]string{r.Samples[0].Recipe, r.Samples[0].Earlier.ID, r.Samples[0].Later.ID})
	require.Contains(t, commandtest.Read(t, page), "only news drops the right one")

	out, _ := runEval(t, command.ExitOK, "versus", docs, "--each", "0", "--recipe", "classic-fnv")
	require.Contains(t, out, "only classic-fnv")
}

// Pairs are made of articles without labels, the same ones at each run.
func TestEvalPairsOfEdits(t *testing.T) {
	var english []string
	for line := range strings.Lines(commandtest.Read(t, evalDocs)) {
		if strings.Contains(line, `"lang":"en"`) && !strings.Contains(line, "dup_of") {
			english = append(english, strings.TrimSpace(line))
		}
	}
	args := []string{"pairs", "--bases", "8", writeLines(t, english...)}
	r := evaluated[figures.PairsResult](t, args...)
	require.Greater(t, r.Recall, 0.6)
	alarms, lookAlikes := 0, 0
	for _, kind := range []string{"numbers_changed", "another_article", "shared_quote", "same_frame_half",
		"same_frame_1x"} {
		alarms, lookAlikes = alarms+r.Kinds[kind].Flagged, lookAlikes+r.Kinds[kind].N
	}
	require.Less(t, float64(alarms)/float64(lookAlikes), 0.1)
	require.Equal(t, []int{8, 8}, []int{r.Kinds["words_10"].N, r.Kinds["words_10"].Interval.Families})
	require.Equal(t, figures.HardNegative, r.Kinds["same_frame_1x"].Label)
	require.Equal(t, []int{figures.Copy, figures.HardNegative}, []int{r.Kinds["live_blog_grown"].Label,
		r.Kinds["roundup_of_3"].Label}, "versions of one publisher, and its neighbours")
	require.Equal(t, r, evaluated[figures.PairsResult](t, append(args, "--html", os.DevNull)...))
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice, "a page is written to a pipe as well: it is still the device")
	first := evaluated[figures.PairsResult](t, append(args, "--part", "first")...).Kinds["words_10"].N
	second := evaluated[figures.PairsResult](t, append(args, "--part", "second")...).Kinds["words_10"].N
	require.Equal(t, 8, first+second, "a family belongs to one half")
	out, _ := runEval(t, command.ExitOK, args...)
	require.Contains(t, out, "words_10")
}

// Without the rows about numbers, reports with other numbers are joined. Copies within two menus are joined only if
// menus do not count.
func TestEvalAblate(t *testing.T) {
	menu := func(first rune) string {
		var lines strings.Builder
		for i := range rune(24) {
			word := strings.Repeat(string(first+i%13), 3) + string('a'+i)
			fmt.Fprintf(&lines, "%s %s%c\n", word, word, first)
		}
		return lines.String() + storm + "\n" + choir + "\n" + bees
	}
	report := `
The harbour of Larkfield handled 4,200 containers in March, 12 per cent more than in February, Anna Velde said
on Monday. Two cranes will arrive before winter, and the terminal will serve ships of up to 230 metres. The port
council had asked for 17 million more, of which 9 million were granted after a long debate. Dockers had feared
for 140 jobs, which stay for now, while pilots complain about shallow water near the eastern pier and want
dredgers to come in April.`
	other := strings.NewReplacer("4,200", "3,900", "12", "7", "230", "180", "17", "21", "9 million", "4 million",
		"140", "90").Replace(report)
	docs := writeLines(t, newArticle("a", report, ""), newArticle("b", other, ""), newArticle("m", menu('a'), ""),
		newArticle("n", menu('n'), ""))
	pairs := writeLines(t, "id_a\tid_b\tlabel\tkind\tbase", "a\tb\t0\tnumbers\tone", "m\tn\t1\tmenu\ttwo")
	byName := map[string]figures.Ablation{}
	for _, a := range evaluated[[]figures.Ablation](t, "ablate", "--docs", docs, "--pairs", pairs) {
		byName[a.Off] = a
	}
	require.Equal(t, figures.Change{Pairs: 1, Joined: 1}, byName["none"].Copies)
	require.Equal(t, figures.Change{Pairs: 1}, byName["none"].LookAlikes)
	numbers := byName["all about numbers"]
	require.Equal(t, figures.Change{Pairs: 1, Change: 1, Families: 1, Low: 1, High: 1}, numbers.LookAlikes)
	require.Equal(t, []int{1, 0}, []int{numbers.Kinds["numbers"].Change, numbers.Copies.Change})
	require.Equal(t, -1, byName["text: furniture"].Copies.Change)
	for _, name := range append(page.Rules(), text.WordLists()...) {
		require.True(t, byName["text: "+name].Off != "" || byName["words: "+name].Off != "", name)
	}
	out, _ := runEval(t, command.ExitOK, "ablate", "--docs", docs, "--pairs", pairs)
	require.Contains(t, out, "row 3")
}

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
	require.GreaterOrEqual(t, r.Delay.Median, 3600., "articles come an hour after each other")
	require.GreaterOrEqual(t, r.Delay.P90, r.Delay.Median)
	require.Contains(t, commandtest.Read(t, html), "originals dropped")
	require.Len(t, r.Curves, 3)
	for _, c := range r.Curves {
		now := c.Steps[c.Present]
		require.Equal(t, []int{total.Copies - total.Caught, total.Dropped}, []int{now.Missed, now.Drops}, c.Setting)
		require.Equal(t, total.CaughtShare(), now.Recall, c.Setting)
	}
	stricter := r.Curves[1].Steps[8]
	require.Greater(t, stricter.Missed, total.Copies-total.Caught)
	other := evaluated[figures.StreamResult](t, append(args, "--detection.short_near", fmt.Sprint(stricter.Value))...)
	require.Equal(t, &figures.Tally{Copies: total.Copies, Missed: stricter.Missed, Others: total.Originals,
		Drops: stricter.Drops}, other.Tally(), "as a run with this value")

	out, _ := runEval(t, command.ExitOK, args...)
	require.Contains(t, out, "\nlookalike ")
	require.Contains(t, out, "one step of detection.near, now 0.44: to 0.40: +0 missed")
	// Within a window of a minute nothing repeats.
	out, errOut := runEval(t, command.ExitNo, append(args, "--json", "--window", "1m", "--min-caught", "0.5")...)
	require.Contains(t, errOut, "language zh, 0 is below 0.5")
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Zero(t, r.Total().Caught)
}

const (
	storm = "A storm tore roofs from forty houses in the harbour district on Tuesday evening, the fire brigade " +
		"said, while ferries to the outer islands stayed in port and the railway bridge was closed until " +
		"engineers had inspected its northern pillars."
	bees = "Beekeepers counted fifty hives on office roofs this summer, twice as many as a year ago, and sold " +
		"the honey at the market hall, where a school class explained to customers how to plant balconies for" +
		" insects that pollinate gardens."
	choir = "The cathedral choir will sing unknown motets by a forgotten composer whose manuscripts a librarian " +
		"discovered behind a cupboard last winter; tickets for the spring concert were sold within minutes, " +
		"and a second evening is planned."
)

// newArticle returns a line whose title begins the text: short texts under different titles are no exact copies.
func newArticle(id, text, labels string) string {
	return fmt.Sprintf(`{"id":%q,"title":%q,"text":%q%s}`, id, text[:20], text, labels)
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
		ID: "not-labelled", Title: choir[:20], Language: "en", Kind: "original",
		OriginalID: "choir", OriginalTitle: choir[:20], Reason: "digest",
	}}, r.Dropped)
	require.Equal(t, []int{1, 1}, []int{len(r.Wrong), len(r.Missed)})
	require.Equal(t, []string{"storm", "late"}, []string{r.Wrong[0].OriginalID, r.Missed[0].ID})
	require.Equal(t, -1, r.Missed[0].Distance)
	require.Equal(t, figures.Delay{Median: 60.5, P90: 100}, r.Delay)
}

// A deletion is no article. The copy after it is caught, also with every other value of a setting.
func TestEvalStreamDeletion(t *testing.T) {
	docs := writeLines(t, `{"op":"c","after":`+newArticle("storm", storm, "")+`}`, `{"op":"d","before":{"id":"storm"}}`,
		`{"op":"c","dup_of":"storm","after":`+newArticle("again", storm, "")+`}`)
	r := evaluated[figures.StreamResult](t, "stream", "--docs", docs, "--input.preset", "debezium", "--input.tombstones",
		"skip")
	require.Equal(t, []int{3, 1}, []int{r.Articles, r.Dead})
	require.Equal(t, figures.StreamCounts{Copies: 1, Caught: 1, Originals: 1}, r.Total())
	require.Equal(t, []float64{1, 0}, []float64{r.Curves[2].Steps[0].Recall, r.Curves[2].Steps[0].Wrong})
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
	for i := range report.MostListed {
		docs = append(docs, newArticle(fmt.Sprint("s", i), fmt.Sprintf("%d %s %d", i, bees, i),
			fmt.Sprintf(`,"source":"site-%02d"`, i)))
	}
	file, html := writeLines(t, docs...), filepath.Join(t.TempDir(), "report.html")
	r := evaluated[figures.StreamResult](t, "stream", "--docs", file, "--html", html)
	require.Equal(t, figures.StreamCounts{Copies: 1, Caught: 1, Originals: 2, Dropped: 1},
		r.Publishers["Harbour Daily"])
	require.Equal(t, []int{1, 1}, []int{r.Publishers["choir.example"].Originals, r.Publishers["unknown"].Originals})
	require.Len(t, r.Publishers, report.MostListed+3)
	require.Equal(t, []string{"Harbour Daily", "choir.example", "site-00"}, r.LargestPublishers()[:3])
	require.Contains(t, commandtest.Read(t, html), "<td>choir.example</td>")

	out, _ := runEval(t, command.ExitOK, "stream", "--docs", file)
	require.Contains(t, out, "\nHarbour Daily ")
	require.Contains(t, out, "and 3 more")
}

// Drops within one publisher and across, some of the edited ones side by side, whatever lines are left out.
func TestEvalStreamSample(t *testing.T) {
	page := filepath.Join(t.TempDir(), "drops.html")
	docs := writeLines(t,
		newArticle("doubtful", choir, `,"ambig":true,"source":"Harbour Daily"`),
		newArticle("storm", storm, `,"source":"Harbour Daily"`),
		newArticle("storm-again", storm, `,"source":"Harbour Daily"`),
		newArticle("storm-cut", strings.ReplaceAll(storm, " northern", ""), `,"source":"Harbour Daily"`),
		newArticle("storm-elsewhere", strings.ReplaceAll(storm, " northern", " old"), `,"source":"Coast"`),
		newArticle("storm-unknown", storm, ""),
	)
	r := evaluated[figures.StreamResult](t, "stream", "--docs", docs, "--sample", "2", "--html", page)
	require.Equal(t, []figures.Joins{{Publishers: "within one", Copies: 2, Equal: 1, Edited: 1},
		{Publishers: "across", Copies: 1, Edited: 1}, {Publishers: "unknown", Copies: 1, Equal: 1}}, r.Joins)
	require.Len(t, r.Samples, 2)
	require.Empty(t, r.Curves, "nothing is labelled")
	require.Equal(t, []string{"within one", "storm", "storm-cut", "across", "storm", "storm-elsewhere"}, []string{
		r.Samples[0].Publishers, r.Samples[0].Earlier.ID, r.Samples[0].Later.ID,
		r.Samples[1].Publishers, r.Samples[1].Earlier.ID, r.Samples[1].Later.ID})
	require.Contains(t, commandtest.Read(t, page), "storm-elsewhere")

	out, _ := runEval(t, command.ExitOK, "stream", "--docs", docs, "--sample", "1")
	require.Regexp(t, "within one .*2 .*0 .*1 .*1", out)
	require.Contains(t, out, "publishers across: the right one is dropped")
}

// Command lines that eval refuses, and what it says.
func TestEvalMistakes(t *testing.T) {
	one := writeLines(t, newArticle("a", storm, ""))
	of := func(labels string) string { // a stream whose first article has labels
		return "stream --docs " + writeLines(t, newArticle("a", storm, labels), newArticle("b", choir, ""))
	}
	twice := writeLines(t, `{"id":"a#2","text":"one"}`, `{"id":"a","text":"two"}`, `{"id":"a","text":"three"}`)
	const given = "pairs --docs " + evalDocs + " --pairs "
	for args, says := range map[string]string{
		given + evalPairsF + " --min-recall 98":                 "must be between 0 and 1",
		given + evalPairsF + " --max-fpr NaN":                   "must be between 0 and 1",
		given + evalPairsF + " --html /nonexistent/report.html": "--html",
		given + evalPairsF + " extra":                           "extra",
		given + evalDocs:                                        "stream.jsonl:1: want id_a",
		"pairs --docs " + evalDocs:                              "belong together",
		"pairs --docs " + twice + " --pairs " + evalPairsF:      `"a#2" names two articles`,
		"pairs --docs " + one + " --pairs " + evalPairsF:        "no such article",
		of(`,"dup_of":"b"`):                                     "does not come before it",
		of(`,"dup_of":"a"`):                                     "does not come before it",
		of(`,"ts":1`):                                           "in all lines or in none",
		of(`,"ts":1700000000000`):                               "seconds since 1970",
		of(`,"ts":"yesterday"`):                                 "seconds since 1970",
		"stream --docs /nonexistent":                            "/nonexistent",
		"stream":                                                `required flag(s) "docs" not set`,
		"stream --docs " + one + " --min-caught 95":             "--min-caught",
		"ablate --docs x":                                       "belong together",
		"ablate":                                                "name labelled pairs",
		"ablate --bases 0 x":                                    "--bases is 0",
		"ablate --part x x":                                     `--part is "x"`,
		"ablate " + writeLines(t, `{"id":"1"}`):                 ":1: ",
		"ablate --recipe classic-fnv x":                         "has no second check",
		"versus":                                                "name the file of articles",
		"versus --recipe news " + one:                           "name another one",
		"versus --recipe new " + one:                            "must be one of news,",
		"versus --each -1 " + one:                               "must not be negative",
	} {
		_, errOut := runEval(t, command.ExitFailed, strings.Fields(args)...)
		require.Contains(t, errOut, says, args)
	}
}
