package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"echosieve/consumer/broker"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
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

// prepare waits until brokers, topics and the group's coordinator answer.
func (c *Consumer) prepare(ctx context.Context) error {
	return c.untilItWorks(ctx, func(ctx context.Context) error {
		err := c.prepareOnce(ctx)
		if missing := (*broker.MissingTopicsError)(nil); errors.As(err, &missing) {
			return stopping.Final(err)
		}
		return broker.Final(err)
	})
}

// untilItWorks repeats a step on the way into the group until it works or its error is stopping.Final, and reports its
// failures.
func (c *Consumer) untilItWorks(ctx context.Context, step func(context.Context) error) error {
	return stopping.Until(ctx, 0, func(ctx context.Context) error {
		err := step(ctx)
		if err == nil {
			c.reporter.OK(broker.OpJoin, c.cfg.Group)
		} else if ctx.Err() == nil && !stopping.IsFinal(err) {
			c.reporter.Failed(broker.OpJoin, c.cfg.Group, err)
		}
		return err
	})
}

func (c *Consumer) prepareOnce(ctx context.Context) error {
	var err error
	if c.cfg.CreateTopics {
		var created []string
		created, err = c.cluster.EnsureTopics(ctx, c.cfg.Topics.All())
		for _, name := range created {
			partitions, _ := c.cluster.Partitions(ctx, name) // 0: not known yet
			c.log.Info("created topic", "topic", name, "partitions", partitions)
		}
	} else {
		// A topic that was created a moment ago may not be known to every broker yet.
		err = c.cluster.WaitForTopics(ctx, c.cfg.Topics.All(), 3*time.Second)
	}
	if p := (*diag.Problem)(nil); c.cfg.Topics.SnapshotsFor > 0 && errors.Is(err, kafka.TopicAuthorizationFailed) &&
		errors.As(broker.Explain(err), &p) {
		p.Remedy = "grant Read on the output topics, and Read and Write on " + c.cfg.Topics.Shadow
		return p
	}
	if err != nil {
		return err
	}
	if err := c.checkTopics(ctx); err != nil {
		return err
	}
	if err := c.waitForGroup(ctx); err != nil {
		return err
	}
	lack, err := c.delivery.Prepare(ctx)
	if lack != "" {
		c.warn("delivery", lack)
	}
	return err
}

// checkTopics returns a permanent *diag.Problem if this user may see a topic but not use it, or if the topic of
// snapshots has several partitions. A topic that the user may not see is missing.
func (c *Consumer) checkTopics(ctx context.Context) error {
	m, err := c.cluster.Metadata(ctx, c.cfg.Topics.All())
	if err != nil {
		return err
	}
	for i := range m.Topics {
		t := &m.Topics[i]
		if p := c.cluster.LackingRight(t); p != nil {
			return p
		}
		if n := len(t.Partitions); c.cfg.Topics.SnapshotsFor > 0 && t.Name == c.cfg.Topics.Shadow && n > 1 {
			return &diag.Problem{
				Cause:  "the topic " + t.Name + " must have one partition, or compaction keeps old snapshots",
				Remedy: "delete it and set kafka.create_topics: true, or name another topic",
				Err:    fmt.Errorf("it has %d", n), Permanent: true,
			}
		}
	}
	return nil
}

// waitForGroup returns nil when the group's coordinator answers. In a new cluster the first such request
// creates the coordinators' topic, and for a moment no coordinator is available.
func (c *Consumer) waitForGroup(ctx context.Context) error {
	return stopping.Until(ctx, broker.SettleTimeout, func(ctx context.Context) error {
		_, err := c.cluster.Committed(ctx, c.cfg.Group, c.inputs[0].name, []int{0})
		if err != nil && broker.Kind(err) != "coordinator" {
			return stopping.Final(err)
		}
		return err
	})
}

// WarnWith makes the consumer call warn when it works, but worse than it could. kind names the warning. It
// may be called once, before Run.
func (c *Consumer) WarnWith(warn func(kind, text string)) { c.warn = warn }
