package watch

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// The warning of a loss is over one window after the loss, and the gauge is 0 then.
func TestLossWarningEnds(t *testing.T) {
	cfg := redisrig.Config(redisrig.Standard)
	x := NewLosses(redisrig.Client(t, redisserver.Addr(t)), keyspace.New(cfg, 0), cfg.Window, nil,
		slog.New(slog.DiscardHandler))
	warned := ""
	m := newMonitor(x, func(_, text string) { warned = text })
	at := time.Now()
	m.report(lossMissing, loss{kind: lossMissing, at: at.Add(-cfg.Window), own: true})
	require.Empty(t, warned, "it is too long ago to matter")
	m.report(lossMissing, loss{kind: lossMissing, at: at.Add(-cfg.Window + time.Minute), own: true})
	m.clearOld()
	require.Contains(t, warned, at.Add(time.Minute).UTC().Format(time.RFC3339))
	m.standing[lossMissing] = at.Add(-cfg.Window)
	m.clearOld()
	require.Empty(t, warned)
	require.Zero(t, testutil.ToFloat64(x.metrics.lastLoss))
}

// A witness speaks only as long as its keys cannot have expired, and the sample stays small and spread over
// the lifetime of the keys.
func TestWitnessesAreASample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witnesses{}
		const lifetime = 100 * time.Second
		for n := range 20_000 {
			w.add(time.Now(), lifetime, keyspace.FieldRef{Fingerprint: simhash.Fingerprint(n)},
				func() []keyspace.ListRef { return nil })
			require.LessOrEqual(t, len(w.kept), witnessesKept)
			time.Sleep(10 * time.Millisecond)
		}
		kept := w.some(witnessesKept, time.Now())
		require.Greater(t, len(kept), witnessesKept/4)
		thirds := [3]int{}
		for _, k := range kept {
			left := time.Until(k.until)
			require.Positive(t, left)
			require.LessOrEqual(t, left, lifetime)
			thirds[min(2, int(3*left/lifetime))]++
		}
		for _, n := range thirds {
			require.Greater(t, n, len(kept)/5, fmt.Sprint(thirds))
		}
		require.Len(t, w.some(witnessesRound, time.Now()), witnessesRound)
		time.Sleep(lifetime)
		require.Empty(t, w.some(witnessesKept, time.Now()))
	})
}
