package load

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSearchForTheLimit(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for _, limit := range []float64{2, 30, 100, 730, 6400} {
		tried := 0
		f := search(100, later, func(rate float64) (bool, error) {
			tried++
			return rate <= limit, nil
		})
		require.NoError(t, f.err)
		require.LessOrEqual(t, f.sustained, limit)
		require.Greater(t, f.not, limit)
		require.LessOrEqual(t, f.not, closeEnough*f.sustained)
		require.LessOrEqual(t, tried, 14)
	}
}

func TestSearchEnds(t *testing.T) {
	later := time.Now().Add(time.Hour)
	never := func(float64) (bool, error) { return false, nil }
	always := func(float64) (bool, error) { return true, nil }
	require.Equal(t, found{not: 1}, search(64, later, never), "no rate below one record a second is tried")
	require.Equal(t, found{sustained: 819200}, search(100, later, always), "nor one above the most")
	require.Equal(t, found{}, search(100, time.Now(), always), "nor any after the deadline")
	broken := errors.New("broken")
	f := search(100, later, func(float64) (bool, error) { return false, broken })
	require.ErrorIs(t, f.err, broken)
}

func TestSustained(t *testing.T) {
	p := Plan{Duration: 30 * time.Second, MaxDelay: time.Second}
	delays := func(from, to time.Duration) []time.Duration {
		all := make([]time.Duration, 300)
		for i := range all {
			all[i] = from + (to-from)*time.Duration(i)/time.Duration(len(all))
		}
		return all
	}
	const ms = time.Millisecond
	require.Empty(t, p.unsustained(delays(50*ms, 50*ms), 0))
	require.Empty(t, p.unsustained(delays(50*ms, 350*ms), 0), "10 ms in a second")
	require.Empty(t, p.unsustained(delays(900*ms, 50*ms), 0), "it recovers")
	require.Equal(t, "the delay grows by 30 ms in a second", p.unsustained(delays(50*ms, 950*ms), 0))
	require.Contains(t, p.unsustained(delays(2000*ms, 2000*ms), 0), "the p99 of the delay is 2000 ms")
	require.Contains(t, p.unsustained(delays(50*ms, 50*ms), 1), "1 record without a verdict")
	require.NotEmpty(t, p.unsustained(nil, 0))
}
