package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// host stands in for a test, so that the test servers can be started outside of one. It implements what they use of
// testing.TB; anything else would panic.
type host struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // testing.TB hands one out
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	cleanups []func()
}

func newHost(ctx context.Context, cancel context.CancelCauseFunc) *host {
	return &host{ctx: ctx, cancel: cancel}
}

// Helper implements testing.TB.
func (*host) Helper() {}

// Name implements testing.TB.
func (*host) Name() string { return "torture" }

// Context implements testing.TB.
func (h *host) Context() context.Context { return h.ctx }

// Cleanup implements testing.TB: f runs in close, the last one first.
func (h *host) Cleanup(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanups = append(h.cleanups, f)
}

// TempDir implements testing.TB.
func (h *host) TempDir() string {
	dir, err := os.MkdirTemp("", "echosieve-torture-*")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Fatal implements testing.TB: it ends the run and the calling goroutine.
func (h *host) Fatal(args ...any) {
	h.cancel(errors.New(fmt.Sprint(args...)))
	runtime.Goexit()
}

// Fatalf implements testing.TB.
func (h *host) Fatalf(format string, args ...any) { h.Fatal(fmt.Sprintf(format, args...)) }

// close ends everything that was started.
func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range slices.Backward(h.cleanups) {
		f()
	}
	h.cleanups = nil
}
