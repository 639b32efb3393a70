package consumer

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

// backoff waits between attempts. The pause doubles from minBackoff to maxBackoff. It is random within
// bounds, so that partitions and processes do not try again at the same moment. The zero value is ready.
type backoff struct {
	first  time.Duration // the first pause; 0: minBackoff
	pauses *exponential.ExponentialBackOff
}

// wait returns nil after the next pause, or ctx's error if ctx ends first.
func (b *backoff) wait(ctx context.Context) error {
	if b.pauses == nil {
		b.pauses = exponential.NewExponentialBackOff()
		b.pauses.InitialInterval, b.pauses.MaxInterval, b.pauses.Multiplier = cmp.Or(b.first, minBackoff), maxBackoff, 2
		b.reset()
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

func (b *backoff) reset() {
	if b.pauses != nil {
		b.pauses.Reset()
	}
}
