package decode

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Memory bounds the values that this process works on at a time, in bytes of the values without their compression. One
// Memory serves all who decode: the pipeline, the console, looks and commands. A value takes up to 40 times its size
// while it is decompressed, read and fingerprinted (SECURITY.md), so the sum of the sizes bounds the memory. Safe for
// concurrent use; a nil Memory has no bound.
//
// There is no deadlock, because who holds a share waits for nothing: not for a core, which it has already, nor for a
// schema, which was asked for before, nor for the consumer's permits, which its batch holds. A share is taken whole,
// before the memory that it stands for is allocated. If it is too small, it is given back, with all that was made,
// before a larger one is waited for. Small values are decompressed without a share (startBytes).
//
// Waiters are served in order. A value above the whole bound waits until no other value is under way, and then exceeds
// the bound.
type Memory struct {
	free  *semaphore.Weighted
	bytes int64
}

// NewMemory returns a Memory for values of so many bytes together.
func NewMemory(bytes int) *Memory {
	n := max(int64(bytes), 1)
	return &Memory{semaphore.NewWeighted(n), n}
}

// share is the part of a Memory that one value holds. The zero share holds nothing and has no bound.
type share struct {
	memory *Memory
	held   int64
}

// take waits until n bytes are free. The share must hold nothing. The error is that of ctx.
func (s *share) take(ctx context.Context, n int) error {
	if s.memory == nil {
		return nil
	}
	want := min(int64(n), s.memory.bytes)
	if err := s.memory.free.Acquire(ctx, want); err != nil {
		return err
	}
	s.held = want
	return nil
}

// While calls fn while it holds n bytes, for texts that come from elsewhere than a record. fn must wait for nothing.
// The error is that of ctx; then fn was not called.
func (m *Memory) While(ctx context.Context, n int, fn func()) error {
	s := share{memory: m}
	if err := s.take(ctx, n); err != nil {
		return err
	}
	defer s.keep(0)
	fn()
	return nil
}

// keep gives back what the share holds above n bytes.
func (s *share) keep(n int) {
	if more := s.held - int64(n); more > 0 {
		s.memory.free.Release(more)
		s.held -= more
	}
}
