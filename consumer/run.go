package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/segmentio/kafka-go"

	"echosieve/consumer/broker"
)

// Run consumes until ctx ends. Then it finishes work under way within the drain timeout, commits, leaves the
// group and returns nil. It waits for brokers that do not answer, at start and later. It returns an error
// where waiting cannot help: topics or rights are missing or the login is refused at start, or the Handler
// returned an error.
func (c *Consumer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.cluster.Close()
	c.fail = func(err error) { cancel(&handlerError{err}) }

	switch err := c.prepare(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("consumer: %w", broker.Explain(err))
	}
	go c.delivery.KeepLimits(ctx)
	go c.watchJoins(ctx)
	err := errOtherIndex
	var watch sync.Once // not before it is admitted: what is lacking until then is stored first
	for errors.Is(err, errOtherIndex) && c.admit(ctx) == nil {
		watch.Do(func() { go c.watchLabels(ctx) })
		err = c.membership(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, errOtherIndex) {
		err = nil
	}
	var failed *handlerError
	if err == nil && errors.As(context.Cause(ctx), &failed) {
		err = failed.error
	}
	return err
}

// membership joins the group and serves partitions until ctx ends, or until this process must wait for another index:
// then it returns errOtherIndex.
func (c *Consumer) membership(ctx context.Context) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c.stepBack = func() { leave(errOtherIndex) }
	group, err := kafka.NewConsumerGroup(c.groupConfig())
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	left := make(chan struct{})
	go func() {
		<-ctx.Done()
		// Close ends the group generation, waits until it is drained and committed, and leaves the group.
		_ = group.Close()
		close(left)
	}()
	c.joining.Store(true)
	defer c.joining.Store(false)
	err = c.serveGenerations(ctx, group)
	leave(err)
	c.waitUntilLeft(left)
	if errors.Is(context.Cause(ctx), errOtherIndex) {
		return errOtherIndex
	}
	return err
}

// handlerError is the cause of an end of Run that nobody asked for. It tells an error of the Handler that
// wraps context.Canceled from the end of Run's context.
type handlerError struct{ error }
