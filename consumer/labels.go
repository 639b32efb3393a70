package consumer

import (
	"context"
	"time"

	"echosieve/consumer/broker"
)

// KeepLabels makes the consumer commit and recall labels. It may be called once, before Run.
func (c *Consumer) KeepLabels(l Labels) { c.labels = l }

func (c *Consumer) recallLabels(committed []broker.Commit) {
	if c.labels != nil {
		c.labels.Recall(broker.IndexLabels(c.input.name, committed))
	}
}

// watchLabels recalls the labels until ctx ends, because members that commit beside this one do not tell it. A request
// that fails is left to the next time: what the members need to work reports the fault.
func (c *Consumer) watchLabels(ctx context.Context) {
	if c.labels == nil {
		return
	}
	tick := time.NewTicker(c.labelsInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		n, err := c.cluster.Partitions(ctx, c.input.name)
		if err != nil {
			continue
		}
		if committed, err := c.cluster.Committed(
			ctx,
			c.cfg.Group,
			c.input.name,
			broker.FirstPartitions(n),
		); err == nil {
			c.recallLabels(committed)
		}
	}
}
