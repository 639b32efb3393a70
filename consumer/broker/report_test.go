package broker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// However many retries of however many partitions fail, the log has one line, and one when all work again.
func TestFailuresAreLoggedOnce(t *testing.T) {
	m := NewMetrics(nil)
	var log bytes.Buffer
	r := NewReporter(m, slog.New(slog.NewTextHandler(&log, nil)), func(string, fmt.Stringer, error) {})
	for range 3 {
		r.Failed(OpPublish, "a/0", kafka.NotEnoughReplicas)
		r.Failed(OpPublish, "a/1", kafka.NotEnoughReplicas)
	}
	r.OK(OpPublish, "a/0")
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	r.OK(OpPublish, "a/1")
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	r.Failed(OpCommit, "group", kafka.RebalanceInProgress)
	require.Equal(t, 2, strings.Count(log.String(), "\n"), "no failure")
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
