package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"

	"github.com/alicebob/miniredis/v2"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestBench(t *testing.T) {
	store := miniredis.RunT(t)
	for name, args := range map[string][]string{
		"in-process": nil,
		"redis":      {"--redis", "--redis.addrs", store.Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := commandtest.Run(t, command.Program(&cobra.Command{Use: "echosieve-lab"}, Command()),
				"",
				append([]string{"bench", "--json", "--rounds", "1", "--limit", "150"}, args...)...)
			require.Equal(t, command.ExitOK, code, errOut)
			var r result
			require.NoError(t, json.Unmarshal([]byte(out), &r))
			require.Equal(t, name, r.Index)
			require.GreaterOrEqual(t, r.Articles, 150)
			require.Len(t, r.Stages, len(stages))
			sum := 0.0
			for _, us := range r.Stages {
				require.Positive(t, us)
				sum += us
			}
			require.InDelta(t, r.Whole, sum, r.Whole/1000)
		})
	}
}

func TestBenchPrintsATable(t *testing.T) {
	stagesUS := map[string]float64{}
	for _, stage := range stages {
		stagesUS[string(stage)] = 12345.6
	}
	for _, cut := range []float64{0, 23456.7} {
		var b strings.Builder
		require.NoError(t, printResult(&b, result{Articles: 100000, Bytes: 123456, Rounds: 100, Index: "in-process",
			Cut: cut, Stages: stagesUS, Whole: 98765.4, Ratio: .43}))
		require.Contains(t, b.String(), "whole ")
		commandtest.FitsTerminal(t, b.String())
	}
}
