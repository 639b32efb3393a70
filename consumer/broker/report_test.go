package broker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// The answers that belong to every rebalance are a failure once they have come for two sessions.
func TestEndlessRebalanceIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics(nil)
		var failing error
		r := NewReporter(m, slog.New(slog.DiscardHandler), func(_ string, _ fmt.Stringer, err error) { failing = err },
			time.Minute)
		for range 2 {
			r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
			time.Sleep(2*time.Minute - 1)
			r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
			require.NoError(t, failing)
			r.OK(OpJoin, "group") // then time begins again
		}
		r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
		time.Sleep(2 * time.Minute)
		r.Failed(OpJoin, "group", kafka.RebalanceInProgress)
		require.ErrorIs(t, failing, kafka.RebalanceInProgress)
		r.OK(OpJoin, "group")
		require.NoError(t, failing)
	})
}

// However many retries of however many partitions fail, the log has one line, and one when all work again.
func TestFailuresAreLoggedOnce(t *testing.T) {
	m := NewMetrics(nil)
	var log bytes.Buffer
	r := NewReporter(m, slog.New(slog.NewTextHandler(&log, nil)), func(string, fmt.Stringer, error) {}, time.Minute)
	for range 3 {
		r.Failed(OpPublish, "a/0", kafka.NotEnoughReplicas)
		r.Failed(OpPublish, "a/1", kafka.NotEnoughReplicas)
	}
	r.OK(OpPublish, "a/0")
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	r.OK(OpPublish, "a/1")
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
}

// Decompressors have a quarter of the memory. One that needs more than that is alone.
func TestDecompressorsShareTheirMemory(t *testing.T) {
	l := NewLimiter(1, 400, nil)
	release, err := l.TryDecoder(1 << 10)
	require.NoError(t, err)
	_, err = l.TryDecoder(1)
	require.ErrorIs(t, err, wire.ErrNoMemory)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = l.WaitDecoder(ended)(1)
	require.ErrorIs(t, err, context.Canceled)
	release()
	_, err = l.WaitDecoder(t.Context())(100)
	require.NoError(t, err)
}

// kafka-go may ask for memory after the fetch has returned. Nobody would release that memory, so none is granted.
func TestMemoryOfAResponseIsAlwaysReleased(t *testing.T) {
	l := NewLimiter(1, 400, nil)
	p := &responsePermit{limiter: l}
	require.NoError(t, p.acquire(t.Context(), 1<<16))
	require.False(t, l.responses.TryAcquire(1), "larger than the share: the whole share is held")
	p.release()
	p.release()
	require.Error(t, p.acquire(t.Context(), 1<<16))
	require.True(t, l.responses.TryAcquire(l.maxResponses), "nothing is held")

	waiting := &responsePermit{limiter: l}
	done := make(chan error)
	go func() { done <- waiting.acquire(t.Context(), 1<<16) }()
	waiting.release()
	l.responses.Release(l.maxResponses)
	require.Error(t, <-done, "released while it waited, or before")
	require.True(t, l.responses.TryAcquire(l.maxResponses), "nothing is held")
}
