package demo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/commandtest"
)

func TestDemoTable(t *testing.T) {
	var out, logs bytes.Buffer
	require.NoError(t, runDemo(t.Context(), &out, &logs, false, ""))
	require.Empty(t, logs.String(), "a demo without trouble logs nothing")
	for _, want := range []string{"VERDICT", "metrics             http://127.0.0.1:", "not_json", "77 records: ",
		"(p50)", "3000 more at once: ", " on: Northmoor Wire: readers report mistakes to",
		"The 3 largest stories",
		"2 copies, 3 publishers, first 青澜日报: 青澜市地铁七号线二期今日开通 ~"} {
		require.Contains(t, out.String(), want)
	}
	commandtest.FitsTerminal(t, out.String())
}
