// Package stopping tells calls that are tried again until they work that the process stops. A call that works is
// waited for. A call that fails, because its server is away, then gives up soon.
package stopping

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// patience is how long a call that has failed is tried again after the process has begun to stop. A call that fails
// for the first time later has as much time from then on: a partition whose leader just moves works again by then.
const patience = time.Second

type key struct{}

// With returns ctx, which goes on when stop ends, with the news that stop has ended.
func With(ctx, stop context.Context) context.Context { return context.WithValue(ctx, key{}, stop) }

// stopOf returns the context that ends when the process begins to stop; one that never ends if ctx does not come from
// With.
func stopOf(ctx context.Context) context.Context {
	if stop, ok := ctx.Value(key{}).(context.Context); ok {
		return stop
	}
	return context.Background()
}

// Began says whether the process has begun to stop.
func Began(ctx context.Context) bool { return stopOf(ctx).Err() != nil }

// Retry returns the context for a call that has failed and is tried again: it ends soon after the process has begun to
// stop. The caller calls cancel when the call is over.
func Retry(ctx context.Context) (retry context.Context, cancel context.CancelFunc) {
	retry, end := context.WithCancel(ctx)
	ignore := context.AfterFunc(stopOf(ctx), func() { time.AfterFunc(patience, end) })
	return retry, func() { ignore(); end() }
}

// Wait returns nil after the pause, or sooner: when the process begins to stop meanwhile, so that a server that is
// back is found. It returns ctx's error if ctx ends first.
func Wait(ctx context.Context, pause time.Duration) error {
	var stop <-chan struct{} // once it has begun, it is no news
	if !Began(ctx) {
		stop = stopOf(ctx).Done()
	}
	select {
	case <-time.After(pause):
	case <-stop:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 3 * time.Second
)

// Backoff waits between attempts. The pause doubles from minBackoff to maxBackoff. It is random within
// bounds, so that partitions and processes do not try again at the same moment. The zero value is ready.
type Backoff struct {
	First  time.Duration // the first pause; 0: minBackoff
	pauses *backoff.ExponentialBackOff
}

func (b *Backoff) next() time.Duration {
	if b.pauses == nil {
		b.pauses = backoff.NewExponentialBackOff()
		b.pauses.InitialInterval, b.pauses.MaxInterval, b.pauses.Multiplier = cmp.Or(b.First, minBackoff), maxBackoff, 2
		b.Reset()
	}
	return b.pauses.NextBackOff()
}

// Wait returns nil after the next pause, sooner when the process begins to stop, or ctx's error if ctx ends first.
func (b *Backoff) Wait(ctx context.Context) error { return Wait(ctx, b.next()) }

// Reset begins with the first pause again.
func (b *Backoff) Reset() {
	if b.pauses != nil {
		b.pauses.Reset()
	}
}

// Final marks an error of a call that Until must not try again.
func Final(err error) error { return backoff.Permanent(err) }

// IsFinal says whether an error is marked so.
func IsFinal(err error) bool { return errors.As(err, new(*backoff.PermanentError)) }

// Until calls try until it succeeds or its error is Final, after pauses as those of Backoff. It gives up when ctx ends
// and, after a failure, soon after the process has begun to stop: ctx of try ends then. It also gives up when it has
// tried for the time patience, unless that is 0. The error is the last one of try, joined with that of ctx if ctx
// ended.
func Until(ctx context.Context, patience time.Duration, try func(ctx context.Context) error) error {
	began, calling := time.Now(), ctx
	var pauses Backoff
	for {
		err := try(calling)
		var final *backoff.PermanentError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &final):
			return final.Unwrap()
		case calling == ctx: // it has failed for the first time
			var cancel context.CancelFunc
			calling, cancel = Retry(ctx) //nolint:fatcontext // once
			defer cancel()
		}
		pause := pauses.next()
		if patience > 0 && time.Since(began)+pause > patience {
			return err
		}
		if ended := Wait(calling, pause); ended != nil {
			if !errors.Is(err, ended) {
				err = errors.Join(ended, err)
			}
			return err
		}
	}
}
