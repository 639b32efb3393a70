package consumer

import (
	"context"

	"github.com/segmentio/kafka-go"
)

// Committed returns the offsets that a group has committed in a topic, by partition. An offset is 0 if the group has committed none, or
// if its offset belongs to a topic of that name that was deleted since. It needs the right Describe on the group.
func (a *Archive) Committed(ctx context.Context, group, topic string) ([]int64, error) {
	return retried(ctx, "offsets of group "+group, func() ([]int64, error) {
		now, err := a.cluster.topic(ctx, topic)
		if err != nil {
			return nil, a.cluster.rootCause(ctx, err)
		}
		partitions := make([]int, len(now.Partitions))
		for i := range partitions {
			partitions[i] = i
		}
		known, err := a.cluster.committed(ctx, group, topic, partitions)
		if err != nil {
			return nil, err
		}
		return committedOffsets(known, func(label string) bool { return ofOtherTopic(label, now.ID) }), nil
	})
}

// committedOffsets returns the offsets by partition, 0 where there is none or its label is that of another topic.
func committedOffsets(known []kafka.OffsetFetchPartition, other func(label string) bool) []int64 {
	offsets := make([]int64, len(known))
	for _, p := range known {
		if p.CommittedOffset > 0 && !other(p.Metadata) {
			offsets[p.Partition] = p.CommittedOffset
		}
	}
	return offsets
}
