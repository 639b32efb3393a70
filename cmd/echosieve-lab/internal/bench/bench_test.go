package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/sample"
	"echosieve/test/commandtest"
	"echosieve/test/redisserver"
)

func TestBench(t *testing.T) {
	r := commandtest.Answer[result](t, commandtest.Only(Command()), "bench", "--rounds", "1", "--limit", "150")
	require.GreaterOrEqual(t, r.Articles, 150)
	require.Len(t, r.Stages, len(stages))
	sum := 0.0
	for _, us := range r.Stages {
		require.Positive(t, us)
		sum += us
	}
	require.InDelta(t, r.Whole, sum, r.Whole/1000)
}

func TestScale(t *testing.T) {
	// While the log is synchronised on a slow disk, Redis holds back what it adds to the log.
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "no")
	got := commandtest.Answer[struct{ Sizes []map[string]float64 }](t, commandtest.Only(Command()), "bench", "scale",
		"--stored", "2k,5000", "--limit", "200", "--redis.addrs", server.Addr,
		commandtest.File(t, "sample.jsonl", string(sample.News)))
	require.Len(t, got.Sizes, 2)
	for i, stored := range []float64{2000, 5000} {
		r := got.Sizes[i]
		require.Equal(t, stored, r["stored"])
		require.GreaterOrEqual(t, r["found"], .9*r["copies"])
		require.Greater(t, r["memory_bytes_per_stored"], 150.0)
		require.Less(t, r["memory_bytes_per_stored"], 1500.0)
		for _, name := range []string{"lookups", "fingerprints_read", "commands", "reply_bytes", "log_bytes",
			"claim_p50_ms", "single_p99_ms", "copies"} {
			require.Positive(t, r[name], name)
		}
	}
	require.Zero(t, server.Client.DBSize(t.Context()).Val(), "the indexes are removed")
}

func TestSizes(t *testing.T) {
	sizes, err := parseSizes([]string{"500k", "1.5M", "7"})
	require.NoError(t, err)
	require.Equal(t, []int{500_000, 1_500_000, 7}, sizes)
	for _, wrong := range []string{"", "M", "0", "-1", "1G", "NaN", "1e12"} {
		_, err := parseSizes([]string{wrong})
		require.ErrorContains(t, err, "--stored", wrong)
	}
}
