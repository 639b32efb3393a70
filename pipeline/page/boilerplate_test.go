package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"

	"github.com/stretchr/testify/require"
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
