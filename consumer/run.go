package consumer

import (
	"context"
	"errors"
	"fmt"

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
	group, err := kafka.NewConsumerGroup(c.groupConfig())
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	go c.delivery.KeepLimits(ctx)
	left := make(chan struct{})
	go func() {
		<-ctx.Done()
		// Close ends the group generation, waits until it is drained and committed, and leaves the group.
		_ = group.Close()
		close(left)
	}()
	go c.watchLabels(ctx)
	go c.watchJoins(ctx)
	err = c.serveGenerations(ctx, group)
	cancel(err)
	c.waitUntilLeft(left)
	var failed *handlerError
	if err == nil && errors.As(context.Cause(ctx), &failed) {
		err = failed.error
	}
	return err
}

// handlerError is the cause of an end of Run that nobody asked for. It tells an error of the Handler that
// wraps context.Canceled from the end of Run's context.
type handlerError struct{ error }
