package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/consumer/broker"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
)

// prepare waits until brokers, topics and the group's coordinator answer.
func (c *Consumer) prepare(ctx context.Context) error {
	var retry stopping.Backoff
	for {
		err := c.prepareOnce(ctx)
		var missing *broker.MissingTopicsError
		switch {
		case err == nil:
			c.reporter.OK(broker.OpJoin, c.cfg.Group)
			return nil
		case broker.Permanent(err), errors.As(err, &missing), ctx.Err() != nil:
			return err
		}
		c.reporter.Failed(broker.OpJoin, c.cfg.Group, err)
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) prepareOnce(ctx context.Context) error {
	var err error
	if c.cfg.CreateTopics {
		var created []string
		if created, err = c.cluster.EnsureTopics(ctx, c.cfg.Topics.All()); len(created) > 0 {
			c.log.Info("created topics", "topics", created, "partitions", c.cfg.Partitions, "replication",
				c.cfg.Replication)
		}
	} else {
		// A topic that was created a moment ago may not be known to every broker yet.
		err = c.cluster.WaitForTopics(ctx, c.cfg.Topics.All(), 3*time.Second)
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
