package process

import (
	"context"
	"errors"
	"time"
)

// Pause waits for d. When ctx ends first, it returns the cause of that end at once.
func Pause(ctx context.Context, d time.Duration) error {
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
		if stop := Pause(ctx, pause); stop != nil {
			return errors.Join(stop, err)
		}
	}
}
