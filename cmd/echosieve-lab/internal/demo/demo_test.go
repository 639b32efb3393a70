package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/sample"
)

// The demo is the whole service over real sockets. It must print the right verdict for every record of the sample.
func TestDemoJudgesTheSample(t *testing.T) {
	var out, logs bytes.Buffer
	require.NoError(t, runDemo(t.Context(), &out, &logs, false, true), logs.String())

	rows := map[string]verdictRow{}
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
		}
	}
	total, missed := 0, 0
	for line := range sample.Lines() {
		total++
		var a struct {
			ID, Kind string
			CopyOf   string `json:"copy_of"`
		}
		if json.Unmarshal(line, &a) != nil || a.ID == "" {
			continue
		}
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
	require.Equal(t, total, summary.Records)
	require.Equal(t, 5, summary.Verdicts["dead"])
	require.Zero(t, missed, "copies that were not caught")
	require.Empty(t, logs.String(), "a demo without trouble logs nothing")
}

func TestDemoTable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, runDemo(t.Context(), &out, io.Discard, false, false))
	for _, want := range []string{"VERDICT", "metrics             http://127.0.0.1:", "not_json", "77 records: ", "latency p50"} {
		require.Contains(t, out.String(), want)
	}
}
