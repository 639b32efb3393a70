package stopping

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetriesEndSoonAfterTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, stop := context.WithCancel(t.Context())
		work := With(context.WithoutCancel(process), process)
		early, cancel := Retry(work)
		defer cancel()
		start := time.Now()
		require.False(t, Began(early))
		time.AfterFunc(time.Hour, stop)
		require.NoError(t, Wait(early, 2*time.Hour))
		require.Equal(t, time.Hour, time.Since(start), "a pause ends when the stop begins")
		require.True(t, Began(early))
		require.NoError(t, Wait(early, patience/2))
		late, cancel := Retry(work)
		defer cancel()
		require.ErrorIs(t, Wait(early, time.Hour), context.Canceled)
		require.Equal(t, time.Hour+patience, time.Since(start))
		require.NoError(t, late.Err(), "it has failed later")
		<-late.Done()
		require.Equal(t, time.Hour+patience*3/2, time.Since(start))
		require.NoError(t, work.Err())
	})
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, calls := errors.New("away"), 0
		fails := func(context.Context) error { calls++; return away }
		start := time.Now()
		require.ErrorIs(t, Until(t.Context(), time.Minute, fails), away)
		require.InDelta(t, time.Minute, time.Since(start), float64(2*maxBackoff))
		require.InDelta(t, 27, calls, 10, "pauses grow to three seconds")
		calls = 0
		final := func(context.Context) error { calls++; return Final(away) }
		require.Equal(t, away, Until(t.Context(), 0, final))
		require.Equal(t, 1, calls)
		calls = 0
		require.NoError(t, Until(t.Context(), 0, func(context.Context) error {
			if calls++; calls < 5 {
				return away
			}
			return nil
		}))
		process, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, stop)
		start = time.Now()
		err := Until(With(context.WithoutCancel(process), process), 0, fails)
		require.ErrorIs(t, err, away)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Hour+patience, time.Since(start))
	})
}
