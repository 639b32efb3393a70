package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

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

// Missing records are given up only when none has come for the whole patience.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.publish(0)
		began := time.Now()
		l.drain(t.Context(), time.Minute)
		require.GreaterOrEqual(t, time.Since(began), time.Minute)
		l.arrive(0, "unique")
		began = time.Now()
		l.drain(t.Context(), time.Hour)
		require.Zero(t, time.Since(began), "nothing is missing")
	})
}
