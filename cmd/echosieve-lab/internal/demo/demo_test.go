package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"

	"echosieve/sample"
)

// The demo is the whole service over real sockets. It must print the right verdict for every record of the sample.
func TestDemoJudgesTheSample(t *testing.T) {
	var out, logs bytes.Buffer
	require.NoError(t, runDemo(t.Context(), &out, &logs, false, true), logs.String())

	rows := map[string]verdictRow{}
	var order []string
	var summary struct {
		Records  int            `json:"records"`
		Verdicts map[string]int `json:"verdicts"`
	}
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"records_per_second"`) {
			require.NoError(t, json.Unmarshal(lines.Bytes(), &summary))
			continue
		}
		var row verdictRow
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		if row.ID != "" {
			rows[row.ID] = row
			if !strings.HasPrefix(row.ID, "/") { // of a line without an id it is the coordinates
				order = append(order, row.ID)
			}
		}
	}
	total, missed := 0, 0
	var published []string
	for line := range sample.Lines() {
		total++
		var a struct {
			ID, Kind string
			CopyOf   string `json:"copy_of"`
		}
		if json.Unmarshal(line, &a) != nil || a.ID == "" {
			continue
		}
		published = append(published, a.ID)
		row := rows[a.ID]
		switch {
		case a.Kind == "broken":
			require.Equal(t, "dead", row.Verdict, a.ID)
		case a.CopyOf == "":
			require.Contains(t, []string{"unique", "possible"}, row.Verdict, a.ID)
		case row.Verdict == "unique" || row.Verdict == "possible":
			missed++
		default:
			require.Contains(t, []string{"near", "exact"}, row.Verdict, a.ID)
			require.NotEmpty(t, row.OriginalTitle, a.ID)
		}
	}
	require.Equal(t, published, order, "verdicts are shown in the order in which they fall")
	require.Equal(t, total, summary.Records)
	require.Equal(t, 5, summary.Verdicts["dead"])
	require.Zero(t, missed, "copies that were not caught")
	require.Empty(t, logs.String(), "a demo without trouble logs nothing")
}

func TestDemoTable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, runDemo(t.Context(), &out, io.Discard, false, false))
	for _, want := range []string{"VERDICT", "metrics             http://127.0.0.1:", "not_json", "77 records: ",
		"(p50)", "3000 more at once: ",
		"The 3 largest stories", "2 copies, 3 publishers, first 青澜日报: 青澜市地铁七号线二期今日开通 ~"} {
		require.Contains(t, out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, text.StringWidth(strings.TrimSpace(line)), 80, line)
	}
}

func TestProgramBeside(t *testing.T) {
	folder := t.TempDir()
	lab := filepath.Join(folder, "echosieve-lab")
	require.Equal(t, "echosieve", beside(lab), "go run builds into a folder without it")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "echosieve"), nil, 0o600))
	require.Equal(t, filepath.Join(folder, "echosieve"), beside(lab))
	t.Chdir(folder)
	require.Equal(t, "./echosieve", beside("./echosieve-lab"))
	require.Equal(t, "echosieve", beside("echosieve-lab"), "found by the shell")
}
