// Package wait pauses goroutines of the fault runner in a way that ends with their context.
package wait

import (
	"context"
	"errors"
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

// Until asks again after each pause until the answer is nil. After the limit it returns the last answer.
func Until(ctx context.Context, limit, pause time.Duration, ask func() error) error {
	for end := time.Now().Add(limit); ; {
		err := ask()
		if err == nil || time.Now().After(end) {
			return err
		}
		if stop := For(ctx, pause); stop != nil {
			return errors.Join(stop, err)
		}
	}
}
