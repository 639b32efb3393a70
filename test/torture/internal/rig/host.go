package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Host takes the place of a test, so that the test servers can be started outside of tests. It implements the methods of testing.TB that
// they call; any other method panics.
type Host struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // testing.TB hands one out
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	cleanups []func()
}

// NewHost returns a host. Fatal calls cancel, which must cancel ctx.
func NewHost(ctx context.Context, cancel context.CancelCauseFunc) *Host {
	return &Host{ctx: ctx, cancel: cancel}
}

// Helper implements testing.TB.
func (*Host) Helper() {}

// Name implements testing.TB.
func (*Host) Name() string { return "torture" }

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
	dir, err := os.MkdirTemp("", "echosieve-torture-*")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Fatal implements testing.TB: it cancels the run with an error and ends the calling goroutine.
func (h *Host) Fatal(args ...any) {
	h.cancel(errors.New(fmt.Sprint(args...)))
	runtime.Goexit()
}

// Fatalf implements testing.TB.
func (h *Host) Fatalf(format string, args ...any) { h.Fatal(fmt.Sprintf(format, args...)) }

// Close calls the cleanups, which end the servers.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range slices.Backward(h.cleanups) {
		f()
	}
	h.cleanups = nil
}

// silent discards the messages that go-redis writes by itself about servers that are away.
type silent struct{}

// Printf implements the logger of go-redis.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }
