package watch_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"echosieve/redisindex/admin"
	"echosieve/redisindex/watch"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// A complete refill ends the warnings of the losses that were known when it began, in all processes and in
// those that start later.
func TestCure(t *testing.T) {
	server := redisserver.Start(t)
	client := redisrig.Client(t, server.Addr)
	cfg := redisrig.Config(redisrig.Standard)
	w, other := startWatched(t, client, cfg), startWatched(t, client, cfg)
	for _, w := range []*watched{w, other} {
		w.Recall(nil)
		w.requireNoLoss(t)
	}
	open := func() *admin.Refill {
		r, err := admin.New(w.Index).OpenRefill(t.Context(), "outputs", false)
		require.NoError(t, err)
		return r
	}
	cure := func(r *admin.Refill) bool {
		cured, err := r.Cure(t.Context())
		require.NoError(t, err)
		return cured
	}
	require.False(t, cure(open()), "there was no loss")
	before := open()
	redisrig.Flush(t, client)
	w.requireLoss(t, watch.LossMissing)
	other.requireLoss(t, watch.LossMissing)
	require.False(t, cure(before), "the loss came after it began")
	gap := open()
	require.NoError(t, gap.LeaveOut(t.Context()))
	require.False(t, cure(gap))
	require.False(t, cure(open()), "another process of the same run has left something out")

	_, err := admin.New(w.Index).OpenRefill(t.Context(), "outputs", true)
	require.NoError(t, err)
	require.True(t, cure(open()))
	for _, w := range []*watched{w, other} {
		require.Eventually(t, func() bool { kinds, _ := w.warns(); return len(kinds) == 0 }, time.Minute,
			10*time.Millisecond)
		require.Zero(t, testutil.ToFloat64(w.LastLoss()))
	}
	later := startWatched(t, client, cfg)
	later.Recall([]string{w.Label()})
	later.requireNoLoss(t)

	require.NoError(t, client.HSet(t.Context(), w.Keys().Markers(false)[0], "seen", 1).Err())
	require.Eventually(t, func() bool { kinds, _ := later.warns(); return kinds[watch.LossRollback] != "" },
		time.Minute, 10*time.Millisecond, "a further loss")
	later.waitRound(t)
	kinds, _ := later.warns()
	require.NotEmpty(t, kinds[watch.LossRollback], "the earlier refill has not cured it")
}
