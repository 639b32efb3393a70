package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
