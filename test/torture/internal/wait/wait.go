// Package wait pauses goroutines of the fault runner in a way that ends with their context.
package wait

import (
	"context"
	"time"
)

// For waits for d. When ctx ends first, For returns the cause of that end at once.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
