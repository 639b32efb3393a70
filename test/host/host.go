// Package host is what tests need of the machine: when they run (tier.go), the files of the repository (repo.go),
// addresses on 127.0.0.1 for the servers that they start (loopback.go), and servers outside of a single test.
package host

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Host takes the place of a test. It implements the methods of testing.TB that the servers call; any other
// method panics.
type Host struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // testing.TB hands one out
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	cleanups []func()
}

// New returns a host. A failure calls cancel, which must cancel ctx.
func New(ctx context.Context, cancel context.CancelCauseFunc) *Host {
	return &Host{ctx: ctx, cancel: cancel}
}

// Helper implements testing.TB.
func (*Host) Helper() {}

// Name implements testing.TB.
func (*Host) Name() string { return "host" }

// Context implements testing.TB.
func (h *Host) Context() context.Context { return h.ctx }

// Cleanup implements testing.TB: Close calls f, the last one first.
func (h *Host) Cleanup(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanups = append(h.cleanups, f)
}

// TempDir implements testing.TB.
func (h *Host) TempDir() string {
	dir, err := os.MkdirTemp("", "echosieve-servers-*")
	require.NoError(h, err)
	h.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Errorf implements testing.TB: it cancels the run with an error.
func (h *Host) Errorf(format string, args ...any) { h.cancel(fmt.Errorf(format, args...)) }

// FailNow implements testing.TB: it ends the calling goroutine.
func (*Host) FailNow() { runtime.Goexit() }

// Fatalf implements testing.TB.
func (h *Host) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	h.FailNow()
}

// Do runs f, which starts servers, and waits for its end. It returns the error that f has made.
func (h *Host) Do(f func()) error {
	done := make(chan struct{})
	go func() { // Fatal ends this goroutine
		defer close(done)
		f()
	}()
	<-done
	return context.Cause(h.ctx)
}

// Logf implements testing.TB.
func (*Host) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Close calls the cleanups, which end the servers.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range slices.Backward(h.cleanups) {
		f()
	}
	h.cleanups = nil
}
