package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

func TestBench(t *testing.T) {
	store := miniredis.RunT(t)
	for name, args := range map[string][]string{
		"in-process": nil,
		"redis":      {"--redis", "--redis.addrs", store.Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := execute(t.Context(), append([]string{"bench", "--json", "--rounds", "1", "--limit", "150"}, args...), nil, &out, &errOut)
			require.Equal(t, exitOK, code, errOut.String())
			var r benchResult
			require.NoError(t, json.Unmarshal(out.Bytes(), &r))
			require.Equal(t, name, r.Index)
			require.GreaterOrEqual(t, r.Articles, 150)
			require.Len(t, r.Stages, len(benchStages))
			sum := 0.0
			for _, us := range r.Stages {
				require.Positive(t, us)
				sum += us
			}
			require.InDelta(t, r.Whole, sum, r.Whole/1000)
		})
	}
}
