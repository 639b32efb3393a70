package broker

import (
	"cmp"
	"context"
	"time"

	"echosieve/internal/base/stopping"

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

// Wait returns nil after the next pause, sooner when the process begins to stop (package stopping), or ctx's error if
// ctx ends first.
func (b *Backoff) Wait(ctx context.Context) error {
	if b.pauses == nil {
		b.pauses = exponential.NewExponentialBackOff()
		b.pauses.InitialInterval, b.pauses.MaxInterval, b.pauses.Multiplier = cmp.Or(b.First, minBackoff), maxBackoff, 2
		b.Reset()
	}
	return stopping.Wait(ctx, b.pauses.NextBackOff())
}

// Reset begins with the first pause again.
func (b *Backoff) Reset() {
	if b.pauses != nil {
		b.pauses.Reset()
	}
}
