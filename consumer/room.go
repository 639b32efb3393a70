package consumer

import (
	"context"
	"sync"
	"time"
)

// smallResponse is the size in bytes below which a fetch response needs no room: that of an empty one.
const smallResponse = 1 << 10

// room is the memory that one fetch may take for its response. kafka-go reads responses in a goroutine of its own, which can
// still be at work when the fetch has long returned because its context ended: then nobody else would give back what
// that goroutine takes.
type room struct {
	ctx     context.Context // of the fetch
	limiter *limiter
	arrived func() // called when the size of the response is known

	mu     sync.Mutex
	held   int64
	closed bool
}

// take waits until there is room for a response of n bytes; until then the response stays with the broker and in the buffers of
// the connection. It returns whether it had to wait for longer than a broker keeps a silent connection.
func (r *room) take(n int64) (late bool, err error) {
	r.arrived()
	if n <= smallResponse {
		return false, nil
	}
	n = min(n, r.limiter.maxResponses)
	start := time.Now()
	if err := r.limiter.responses.Acquire(r.ctx, n); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.limiter.responses.Release(n)
		return false, context.Canceled
	}
	r.held = n
	return time.Since(start) > requestTimeout, nil
}

// close gives back what is held, or what will be taken.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limiter.responses.Release(r.held)
	r.held, r.closed = 0, true
}
