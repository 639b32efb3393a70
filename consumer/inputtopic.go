package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// topicCheckInterval is the longest time for which a change of an input topic can go unnoticed.
const topicCheckInterval = 2 * time.Second

// endOnTopicChange returns, which ends the group generation, when an input topic was recreated. In the
// group's leader, which has assigned the partitions, it also returns when the topics' number of partitions
// has changed; assigned is the number at the assignment, or negative in the other members. While a topic
// does not exist, it reports the failure and waits.
//
// kafka-go v0.4.51 has such a watcher (WatchPartitionChanges). It is off for three reasons: while the topic
// does not exist it forms one group generation after the other; it compares with the number of partitions
// that it sees first, not with the assigned number; and it knows no topic ids.
func (c *Consumer) endOnTopicChange(ctx context.Context, assigned int64) {
	for stopping.Wait(ctx, topicCheckInterval) == nil {
		now, err := c.describeTopics(ctx)
		partitions, changed := int64(0), false
		for i, t := range now {
			if t.Err == nil {
				c.reporter.OK(broker.OpJoin, t.Name)
			} else if err = t.Err; errors.Is(err, kafka.UnknownTopicOrPartition) {
				c.reporter.Failed(broker.OpJoin, t.Name, err)
			}
			partitions += int64(len(t.Partitions))
			changed = changed || c.inputs[i].differs(t.ID)
		}
		// Fetches and the health probe report other errors.
		if changed || err == nil && assigned >= 0 && partitions != assigned {
			c.log.Info("an input topic has changed, joining again", "topics", c.cfg.Topics.Inputs, "partitions", partitions)
			return
		}
	}
}

// describeTopics asks a broker about all topics and returns the input topics, in the order of c.inputs. It stores the
// others, for the partitions that this process owns.
func (c *Consumer) describeTopics(ctx context.Context) (inputs []wire.Topic, err error) {
	asked := time.Now()
	m, err := c.cluster.Metadata(ctx, c.cfg.Topics.All())
	if err != nil {
		return nil, err
	}
	known := map[string]wire.Topic{}
	for _, t := range m.Topics {
		known[t.Name] = t
	}
	for _, input := range c.inputs {
		inputs = append(inputs, known[input.name])
		delete(known, input.name)
	}
	c.delivery.Saw(slices.Collect(maps.Values(known)), asked)
	return inputs, nil
}

// start is where a group generation begins in a partition: at offset, or at the log start if offset is negative.
type start struct {
	input     *inputTopic
	partition int32
	offset    int64
	recreated bool // the group's offset belonged to a topic that was deleted and recreated
}

func (s start) place() wire.TopicPartition {
	return wire.TopicPartition{Topic: s.input.name, Partition: s.partition}
}

// startPositions asks brokers for the topics' ids and for the group's offsets in the assigned partitions,
// until they answer. It returns an error when ctx ends, and if this process must not decide.
func (c *Consumer) startPositions(ctx context.Context, assigned map[string][]kafka.PartitionAssignment) (
	starts []start, err error,
) {
	err = c.untilItWorks(ctx, func(ctx context.Context) (err error) {
		starts, err = c.startPositionsOnce(ctx, assigned)
		switch {
		case errors.Is(err, errOtherIndex):
			return stopping.Final(err)
		case err != nil:
			return fmt.Errorf("consumer: positions of group %s: %w", c.cfg.Group, err)
		}
		return nil
	})
	return starts, err
}

func (c *Consumer) startPositionsOnce(ctx context.Context, assigned map[string][]kafka.PartitionAssignment) ([]start,
	error,
) {
	var all []broker.Commit
	var starts []start
	for _, input := range c.inputs {
		committed, its, err := c.startsIn(ctx, input, assigned[input.name])
		switch {
		case errors.Is(err, kafka.UnknownTopicOrPartition) && len(assigned[input.name]) == 0:
			c.reporter.Failed(broker.OpJoin, input.name, err) // the other topics need not wait for it
		case err != nil:
			return nil, err
		}
		all, starts = append(all, committed...), append(starts, its...)
	}
	if err := c.checkMembers(ctx, all); err != nil {
		return nil, err
	}
	c.recallLabels(all)
	return starts, nil
}

// startsIn returns what the group has committed in one input topic, and where this member begins there.
func (c *Consumer) startsIn(ctx context.Context, input *inputTopic, assigned []kafka.PartitionAssignment) (
	committed []broker.Commit, starts []start, err error,
) {
	// The topic's id is read before anything is fetched. Otherwise the topic could be recreated in between:
	// records of the old topic would be committed under the id of the new one, and a restart would resume in
	// the new topic at an offset of the old.
	now, err := c.cluster.Topic(ctx, input.name)
	if err != nil {
		return nil, nil, err
	}
	input.id.Store(&now.ID)
	// Offsets of all partitions are read, for their labels: the members of the group must know the same
	// before one of them writes.
	partitions := broker.FirstPartitions(len(now.Partitions))
	for _, a := range assigned {
		if a.ID >= len(now.Partitions) {
			partitions = append(partitions, a.ID)
		}
	}
	if committed, err = c.cluster.Committed(ctx, c.cfg.Group, input.name, partitions); err != nil {
		return nil, nil, err
	}
	for _, p := range committed {
		if !slices.ContainsFunc(assigned, func(a kafka.PartitionAssignment) bool { return a.ID == int(p.Partition) }) {
			continue
		}
		at := start{input: input, partition: p.Partition, offset: p.Next}
		if p.Next >= 0 && p.OfOtherTopic(now.ID) {
			at.recreated, at.offset = true, -1
		}
		// Brokers drop a group's offsets with the topic. Then the only evidence is that this process has
		// served the old topic. A process that has just started cannot tell this case from a group that never
		// committed.
		if p.Next < 0 && input.lastServed.Known() && now.ID.Known() && input.lastServed != now.ID {
			at.recreated = true
		}
		starts = append(starts, at)
	}
	return committed, starts, nil
}

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
	for stopping.Wait(ctx, c.labelsInterval) == nil {
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
