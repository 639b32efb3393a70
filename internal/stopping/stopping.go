// Package stopping tells calls that are tried again until they work that the process stops. A call that works is
// waited for. A call that fails, because its server is away, then gives up soon.
package stopping

import (
	"context"
	"time"
)

// patience is how long a call that has failed is tried again after the process has begun to stop. A call that fails
// for the first time later has as much time from then on: a partition whose leader just moves works again by then.
const patience = time.Second

type key struct{}

// With returns ctx, which goes on when stop ends, with the news that stop has ended.
func With(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, key{}, stop.Done())
}

// began returns the channel that is closed when the process begins to stop, nil if ctx does not come from With.
func began(ctx context.Context) <-chan struct{} {
	stop, _ := ctx.Value(key{}).(<-chan struct{})
	return stop
}

// Began says whether the process has begun to stop.
func Began(ctx context.Context) bool {
	select {
	case <-began(ctx):
		return true
	default:
		return false
	}
}

// Retry returns the context for a call that has failed and is tried again: it ends soon after the process has begun to
// stop. The caller calls cancel when the call is over.
func Retry(ctx context.Context) (retry context.Context, cancel context.CancelFunc) {
	retry, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-began(ctx):
		case <-retry.Done():
			return
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-retry.Done():
		}
	}()
	return retry, cancel
}

// Wait returns nil after the pause, or sooner: when the process begins to stop meanwhile, so that a server that is
// back is found. It returns ctx's error if ctx ends first.
func Wait(ctx context.Context, pause time.Duration) error {
	stop := began(ctx)
	if Began(ctx) {
		stop = nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-stop:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
