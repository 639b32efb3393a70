package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"

	"echosieve/consumer/broker"
)

// KeepLabels makes the consumer commit and recall labels. It may be called once, before Run.
func (c *Consumer) KeepLabels(l Labels) { c.labels = l }

func (c *Consumer) recallLabels(committed []broker.Commit) {
	if c.labels != nil {
		c.labels.Recall(broker.IndexLabels(committed))
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
		if committed, err := c.committed(ctx); err == nil {
			c.recallLabels(committed)
		}
	}
}

// committed returns what the group has committed in the input topics that exist, of which there must be one.
func (c *Consumer) committed(ctx context.Context) (all []broker.Commit, err error) {
	var missing error
	for _, input := range c.inputs {
		n, err := c.cluster.Partitions(ctx, input.name)
		if errors.Is(err, kafka.UnknownTopicOrPartition) {
			missing = err
			continue
		}
		if err != nil {
			return nil, err
		}
		committed, err := c.cluster.Committed(ctx, c.cfg.Group, input.name, broker.FirstPartitions(n))
		if err != nil {
			return nil, err
		}
		all = append(all, committed...)
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}
