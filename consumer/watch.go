package consumer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

// watchInterval is how long a change of the input topic can go unnoticed.
const watchInterval = 2 * time.Second

// inputTopic knows which topic the positions of this generation belong to. When a topic is deleted and recreated, the old
// positions mean other records: whoever went on from them would pass over what stands before. The broker only complains if
// the new log is shorter.
type inputTopic struct {
	cluster *cluster
	name    string
	id      atomic.Pointer[topicID]
}

// replaced says whether the topic is known to be another than that of this generation.
func (t *inputTopic) replaced(ctx context.Context) bool {
	now, err := t.cluster.topicState(ctx, t.name)
	return err == nil && t.differs(now.id)
}

func (t *inputTopic) differs(now topicID) bool {
	id := *t.id.Load()
	return id.known() && now.known() && id != now
}

// watch returns, which ends the generation, when the input topic was recreated or, for the member that has shared it out (shared
// is not negative), has another number of partitions. While there is no topic it says so and waits. kafka-go's own watcher
// would form one generation after the other meanwhile, and takes the number that it sees first for what was shared out.
func (c *Consumer) watch(ctx context.Context, shared int64) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now, err := c.cluster.topicState(ctx, c.input.name)
		switch {
		case errors.Is(err, kafka.UnknownTopicOrPartition):
			c.reporter.failed(opJoin, c.input.name, err)
		case err != nil: // fetches and the probe report it
		case c.input.differs(now.id), shared >= 0 && int64(now.partitions) != shared:
			c.log.Info("the input topic has changed, joining again", "topic", c.input.name, "partitions", now.partitions)
			return
		default:
			c.reporter.ok(opJoin, c.input.name)
		}
	}
}

// balancer is kafka-go's, and notes how many partitions of the topic it has shared out.
type balancer struct {
	kafka.RangeGroupBalancer
	topic  string
	shared *atomic.Int64
}

// AssignGroups implements kafka.GroupBalancer. Only the leader of a generation calls it.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	n := int64(0)
	for _, p := range partitions {
		if p.Topic == b.topic {
			n++
		}
	}
	b.shared.Store(n)
	return b.RangeGroupBalancer.AssignGroups(members, partitions)
}
