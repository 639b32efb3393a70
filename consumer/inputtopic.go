package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// topicCheckInterval is the longest time for which a change of the input topic can go unnoticed.
const topicCheckInterval = 2 * time.Second

// endOnTopicChange returns, which ends the group generation, when the input topic was recreated. In the
// group's leader, which has assigned the partitions, it also returns when the topic's number of partitions
// has changed; assigned is the number at the assignment, or negative in the other members. While the topic
// does not exist, it reports the failure and waits.
//
// kafka-go v0.4.51 has such a watcher (WatchPartitionChanges). It is off for three reasons: while the topic
// does not exist it forms one group generation after the other; it compares with the number of partitions
// that it sees first, not with the assigned number; and it knows no topic ids.
func (c *Consumer) endOnTopicChange(ctx context.Context, assigned int64) {
	ticker := time.NewTicker(topicCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now, err := c.describeTopics(ctx)
		switch {
		case errors.Is(err, kafka.UnknownTopicOrPartition):
			c.reporter.Failed(broker.OpJoin, c.input.name, err)
		case err != nil: // fetches and the health probe report it
		case c.input.differs(now.ID), assigned >= 0 && int64(len(now.Partitions)) != assigned:
			c.log.Info("the input topic has changed, joining again", "topic", c.input.name, "partitions",
				len(now.Partitions))
			return
		default:
			c.reporter.OK(broker.OpJoin, c.input.name)
		}
	}
}

// describeTopics asks a broker about all topics and returns the input topic. It stores the others, for the
// partitions that this process owns.
func (c *Consumer) describeTopics(ctx context.Context) (input wire.Topic, err error) {
	asked := time.Now()
	m, err := c.cluster.Metadata(ctx, c.cfg.Topics.All())
	if err != nil {
		return wire.Topic{}, err
	}
	var outputs []wire.Topic
	for _, t := range m.Topics {
		if t.Name == c.input.name {
			input = t
		} else {
			outputs = append(outputs, t)
		}
	}
	c.delivery.Saw(outputs, asked)
	return input, input.Err
}

// start is where a group generation begins in a partition: at offset, or at the log start if offset is negative.
type start struct {
	partition int32
	offset    int64
	recreated bool // the group's offset belonged to a topic that was deleted and recreated
}

// startPositions asks brokers for the topic's id and for the group's offsets in the assigned partitions,
// until they answer. It returns an error when ctx ends, and if this process must not decide.
func (c *Consumer) startPositions(ctx context.Context, assigned []kafka.PartitionAssignment) ([]start, error) {
	var retry stopping.Backoff
	for {
		starts, err := c.startPositionsOnce(ctx, assigned)
		if err == nil {
			c.reporter.OK(broker.OpJoin, c.cfg.Group)
			return starts, nil
		}
		if errors.Is(err, errOtherIndex) {
			return nil, err
		}
		if ctx.Err() == nil {
			c.reporter.Failed(
				broker.OpJoin,
				c.cfg.Group,
				fmt.Errorf("consumer: positions of group %s: %w", c.cfg.Group, err),
			)
		}
		if err := retry.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (c *Consumer) startPositionsOnce(ctx context.Context, assigned []kafka.PartitionAssignment) ([]start, error) {
	// The topic's id is read before anything is fetched. Otherwise the topic could be recreated in between:
	// records of the old topic would be committed under the id of the new one, and a restart would resume in
	// the new topic at an offset of the old.
	now, err := c.cluster.Topic(ctx, c.input.name)
	if err != nil {
		return nil, err
	}
	c.input.id.Store(&now.ID)
	// Offsets of all partitions are read, for their labels: the members of the group must know the same
	// before one of them writes.
	partitions := broker.FirstPartitions(len(now.Partitions))
	for _, a := range assigned {
		if a.ID >= len(now.Partitions) {
			partitions = append(partitions, a.ID)
		}
	}
	committed, err := c.cluster.Committed(ctx, c.cfg.Group, c.input.name, partitions)
	if err != nil {
		return nil, err
	}
	if err := c.checkMembers(ctx, committed); err != nil {
		return nil, err
	}
	c.recallLabels(committed)
	starts := make([]start, 0, len(assigned))
	for _, p := range committed {
		if !slices.ContainsFunc(assigned, func(a kafka.PartitionAssignment) bool { return a.ID == int(p.Partition) }) {
			continue
		}
		at := start{partition: p.Partition, offset: p.Next}
		if p.Next >= 0 && p.OfOtherTopic(now.ID) {
			at.recreated, at.offset = true, -1
		}
		// Brokers drop a group's offsets with the topic. Then the only evidence is that this process has
		// served the old topic. A process that has just started cannot tell this case from a group that never
		// committed.
		if p.Next < 0 && c.lastServed.Known() && now.ID.Known() && c.lastServed != now.ID {
			at.recreated = true
		}
		starts = append(starts, at)
	}
	return starts, nil
}
