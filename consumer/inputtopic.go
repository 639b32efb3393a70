package consumer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go"
)

// inputTopic knows the id of the topic that the positions of this group generation belong to. If a topic is deleted and
// recreated, an old position means another record: a member that went on from it would skip the records before it. The broker
// reports an error only if the new log is shorter.
type inputTopic struct {
	cluster *cluster
	name    string
	id      atomic.Pointer[wire.TopicID]
}

// wasRecreated asks a broker for the id of the topic, and says whether it differs from the id of this group generation. It returns
// false if no broker answers or brokers have no ids.
func (t *inputTopic) wasRecreated(ctx context.Context) bool {
	now, err := t.cluster.topic(ctx, t.name)
	return err == nil && t.differs(now.ID)
}

func (t *inputTopic) differs(now wire.TopicID) bool {
	id := *t.id.Load()
	return id.Known() && now.Known() && id != now
}

// topicCheckInterval is the longest time for which a change of the input topic can go unnoticed.
const topicCheckInterval = 2 * time.Second

// endOnTopicChange returns, which ends the group generation, when the input topic was recreated. In the group's leader, which has
// assigned the partitions, it also returns when the topic's number of partitions has changed; assigned is the number at the assignment,
// or negative in the other members. While the topic does not exist, it reports the failure and waits.
//
// kafka-go v0.4.51 has such a watcher (WatchPartitionChanges). It is off for three reasons: while the topic does not exist it forms one
// group generation after the other; it compares with the number of partitions that it sees first, not with the assigned number; and
// it knows no topic ids.
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
			c.reporter.failed(opJoin, c.input.name, err)
		case err != nil: // fetches and the health probe report it
		case c.input.differs(now.ID), assigned >= 0 && int64(len(now.Partitions)) != assigned:
			c.log.Info("the input topic has changed, joining again", "topic", c.input.name, "partitions", len(now.Partitions))
			return
		default:
			c.reporter.ok(opJoin, c.input.name)
		}
	}
}

// describeTopics asks a broker about all topics and returns the input topic. It stores the others, for the partitions that this process owns.
func (c *Consumer) describeTopics(ctx context.Context) (input wire.Topic, err error) {
	asked := time.Now()
	m, err := c.cluster.metadata(ctx, c.cfg.Topics.All())
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
	c.outputs.Store(&outputTopics{outputs, asked})
	return input, input.Err
}

// balancer is kafka-go's range balancer. It also stores how many partitions of the topic it has assigned.
type balancer struct {
	kafka.RangeGroupBalancer
	topic    string
	assigned *atomic.Int64
}

// AssignGroups implements kafka.GroupBalancer. Only the leader of a group generation calls it.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	n := int64(0)
	for _, p := range partitions {
		if p.Topic == b.topic {
			n++
		}
	}
	b.assigned.Store(n)
	return b.RangeGroupBalancer.AssignGroups(members, partitions)
}
