package broker

import (
	"cmp"
	"context"
	"time"

	exponential "github.com/cenkalti/backoff/v5"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 3 * time.Second
)

// Backoff waits between attempts. The pause doubles from minBackoff to maxBackoff. It is random within
// bounds, so that partitions and processes do not try again at the same moment. The zero value is ready.
type Backoff struct {
	First  time.Duration // the first pause; 0: minBackoff
	pauses *exponential.ExponentialBackOff
}

// Wait returns nil after the next pause, or ctx's error if ctx ends first.
func (b *Backoff) Wait(ctx context.Context) error {
	if b.pauses == nil {
		b.pauses = exponential.NewExponentialBackOff()
		b.pauses.InitialInterval, b.pauses.MaxInterval, b.pauses.Multiplier = cmp.Or(b.First, minBackoff), maxBackoff, 2
		b.Reset()
	}
	timer := time.NewTimer(b.pauses.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Backoff) Reset() {
	if b.pauses != nil {
		b.pauses.Reset()
	}
}
