package consumer

import (
	"context"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline/article"
)

// labelsInterval is the time between two looks at the labels of all partitions; tests set a shorter one.
const labelsInterval = 5 * time.Second

// Labels are stored beside the group's committed offsets (package label), and survive a restart of all
// members. The index stores which one it is and how far it has counted. So it notices after a restart that
// Redis has lost data, and that another index was used.
type Labels interface {
	// Label returns the words of the index to store: one word without spaces, at most 1 KiB, or "". It is
	// called before each commit.
	Label() string
	// Recall is called whenever partitions are assigned, and every 5 seconds, with the labels of all
	// partitions of the input topic that have one, by the offset beside which the label stands. Calls may be
	// concurrent. The map belongs to Recall.
	Recall(labels map[article.Coordinates]string)
}

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
