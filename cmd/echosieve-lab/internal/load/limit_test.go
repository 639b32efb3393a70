package load

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command/commandtest"
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

func TestLedgerAccountsForEveryRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		for i := range 5 {
			require.Equal(t, i, l.publish(time.Duration(i)*time.Second))
		}
		time.Sleep(10 * time.Second)
		require.True(t, l.arrive(1, "unique"))
		require.True(t, l.arrive(3, "near"))
		require.True(t, l.arrive(3, "near"), "delivered again")
		require.False(t, l.arrive(5, "unique"), "never published")
		require.False(t, l.arrive(-1, "unique"))

		published, arrived := l.counts()
		require.Equal(t, 5, published)
		require.Equal(t, 2, arrived)
		require.Equal(t, 1, l.redelivered)
		require.Equal(t, map[string]int{"unique": 1, "near": 1}, l.verdicts)
		delays, span := l.delays(2 * time.Second)
		require.Len(t, delays, 1, "record 1 was due before")
		require.Equal(t, 7*time.Second, delays[0])
		require.Equal(t, 8*time.Second, span)
	})
}

// The longest report: a search for the limit on a large machine that fell behind.
func TestReportFitsATerminal(t *testing.T) {
	made := Made{Originals: 1234567, Near: 234567, Exact: 234567}
	verdicts := map[string]int{"unique": 1234567, "near": 234567, "exact": 234567, "possible": 12345, "dead": 123}
	slow := Delay{P50: 12345, P90: 23456, P99: 34567, Max: 45678}
	r := Report{
		Service: &Service{StartMS: 1234, IdleBytes: 60 << 20, UnderLoad: 1234 << 20, PeakBytes: 2345 << 20},
		Limit:   &Limit{PerSecond: 12345, NotSustained: 12999, Rule: Plan{MaxDelay: time.Minute}.Rule()},
		Results: []Result{
			{Rate: 12345, Share: 100, Throughput: 12345, Delay: slow, CPU: 1234, MostMemory: 1234 << 20,
				MostLag: 1234567, Made: made, Verdicts: verdicts, Published: 1703701, Sustained: true},
			{Rate: 300, Delay: slow, Verdicts: verdicts,
				Why: "the records without a verdict grew to more than ten seconds of the rate, and the lag did not fall"},
		},
	}
	var b strings.Builder
	r.Print(&b)
	commandtest.FitsTerminal(t, b.String())
	for _, want := range []string{"records ", "100 %", "1234567", "unknown", "not sustained"} {
		require.Contains(t, b.String(), want)
	}
}
