package page

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
)

// The boilerplate of an invented site.
const (
	notice   = "This page was put together from public sources and is no legal advice."
	consent  = "Before you begin, please choose how many of our partners may count your visits."
	zhNotice = "本网转载的内容版权归原作者所有，未经书面许可不得复制。"
)

var (
	written = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	begins  = written.Add(time.Hour)
)

func TestRowsCanEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.tsv")
	var b strings.Builder
	require.NoError(t, AppendBoilerplate(&b, nil, written, begins, []Sentence{{"courier", 40, notice}}))
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	table, err := ReadBoilerplate(path)
	require.NoError(t, err)
	require.True(t, table.Has("courier", text.Clean(notice)))
	require.False(t, table.Has("herald", text.Clean(notice)))

	later := begins.Add(48 * time.Hour)
	require.NoError(t, AppendBoilerplate(&b, table, begins, later, []Sentence{{"courier", 0, notice}}))
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	table, err = ReadBoilerplate(path)
	require.NoError(t, err)
	require.False(t, table.Has("courier", text.Clean(notice)))
	sentence := text.AppendNormalised(nil, text.Clean(notice))
	require.True(t, table.matches(sentence, article.Origin{Publisher: "courier", Time: later.Add(-time.Second)}))
	require.False(t, table.matches(sentence, article.Origin{Publisher: "courier", Time: later}))
	count, latest := table.Rows()
	require.Equal(t, 2, count)
	require.Equal(t, later, latest)

	require.ErrorContains(t, AppendBoilerplate(&b, table, written, begins, nil), "correct the clock")
	require.ErrorContains(t, AppendBoilerplate(&b, table, later, later, nil), "begin later")
}

func TestBadTables(t *testing.T) {
	const head = "format\t1\nwritten\t2026-05-04T12:00:00Z\n"
	for table, want := range map[string]string{
		"":                   "is empty",
		"# a comment\n":      "is empty",
		"2026-05-04\ta\tb\n": "the first row must be",
		"format\t2\n":        "format 2, known: 1",
		"format\t1\n2026-05-04T13:00:00Z\tcourier\t3\tNo advice.\n":           `a row "written" with a time must stand above`,
		"format\t1\nwritten\tyesterday\n":                                     "is no time such as",
		head + "2026-05-04T12:00:00Z\tcourier\t3\tNo advice.\n":               "rows begin after their roll-out",
		head + "2026-05-04T11:00:00Z\tcourier\t3\tNo advice.\n":               "rows begin after their roll-out",
		head + "tomorrow\tcourier\t3\tNo advice.\n":                           "is no time such as",
		head + "2026-05-04T13:00:00Z\tcourier\tmany\tNo advice.\n":            "is not a number of articles",
		head + "2026-05-04T13:00:00Z\tcourier\t3\t...\n":                      "the sentence is empty",
		head + "2026-05-04T13:00:00Z\tcourier\t3\tNo advice. No liability.\n": `put "no advice." into a row of its own`,
		head + "2026-05-04T13:00:00Z courier 3 No advice.\n":                  "1 fields with tabs",
		head + "written\t2026-05-04T11:59:59Z\n":                              "add rows at the end",
	} {
		path := filepath.Join(t.TempDir(), "table.tsv")
		require.NoError(t, os.WriteFile(path, []byte(table), 0o600))
		_, err := ReadBoilerplate(path)
		require.ErrorContains(t, err, want, "%q", table)
	}
}

// invented returns an article of n sentences in words that nobody uses.
func invented(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		for range 8 {
			fmt.Fprintf(&b, "w%dx ", random.IntN(1_000_000))
		}
		b.WriteString("end. ")
	}
	return b.String()
}

func TestLearnerFindsBoilerplate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l := NewLearner(10, 0.1)
	add := func(publisher, raw string) { require.True(t, l.Add(article.Content{Publisher: publisher, Text: raw})) }
	repeated := invented(random, 20)
	for i := range 40 {
		add("courier", consent+" "+invented(random, 4)+"\n"+notice+"\nBack to top.")
		add("herald", invented(random, 4)+consent)
		add("gazette", invented(random, 4)+consent)
		add("", invented(random, 4)+zhNotice)
		// one article, published again and again
		add("courier", repeated+fmt.Sprint("Updated for the time number ", i, "."))
		if i < 6 {
			add("gazette", invented(random, 3)+"Only a few articles of this publisher end like this.")
		}
	}
	require.False(t, l.Add(article.Content{Text: "<p>...</p>"}))

	learnt := l.Sentences(nil)
	require.Equal(t, []Sentence{
		{AllPublishers, 120, text.Clean(consent)},
		{NoPublisher, 40, text.Clean(zhNotice)},
		{"courier", 40, text.Clean(notice)},
	}, learnt)
	require.Equal(t, 4, l.Publishers())

	path := filepath.Join(t.TempDir(), "table.tsv")
	var b strings.Builder
	require.NoError(t, AppendBoilerplate(&b, nil, written, begins, learnt[1:]))
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	table, err := ReadBoilerplate(path)
	require.NoError(t, err)
	require.Equal(t, learnt[:1], l.Sentences(table), "sentences that the table has are not learnt again")
}

// Pages that consist of boilerplate for the most part share most of their sentences, like copies.
func TestLearnerFindsLongBoilerplate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	l := NewLearner(10, 0)
	boilerplate := invented(random, 16)
	for range 200 {
		l.Add(article.Content{Publisher: "courier", Text: invented(random, 4) + boilerplate})
	}
	require.Len(t, l.Sentences(nil), 16)
}

func TestLearnerForgetsRareSentences(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	l := NewLearner(10, 0)
	l.most = 50
	for range 100 {
		l.Add(article.Content{Publisher: "courier", Text: invented(random, 4) + notice})
		require.LessOrEqual(t, len(l.counted), 50)
	}
	require.Equal(t, []Sentence{{"courier", 100, text.Clean(notice)}}, l.Sentences(nil))
}

func TestSentencesAreCut(t *testing.T) {
	for raw, want := range map[string][]string{
		"":                       nil,
		"One. Two! Three?\nFour": {"one.", "two!", "three?", "four"},
		"It rose 3.5 % at example.com. So be it.": {"it rose 3.5 % at example.com.", "so be it."},
		`"We won." She left (at once.) Then...`:   {`"we won."`, "she left (at once.)", "then..."},
		"यह पहला है। यह दूसरा है।": {
			"यह पहला है।", "यह दूसरा है।",
		},
		"第一句。第二句！“第三句？”第四句": {"第一句。", "第二句!",
			"“第三句?”", "第四句"},
		"...\n。\nA":        {"...", "。", "a"},
		"a...b. c":         {"a...b.", "c"},
		`a.".b!.c d.'.) e`: {`a.".b!.`, `c d.'.)`, "e"},
	} {
		var got []string
		clean := text.Clean(raw)
		for start, end := range sentencesOf(clean) {
			got = append(got, clean[start:end])
		}
		require.Equal(t, want, got, raw)
	}
}
