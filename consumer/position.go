package consumer

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"
)

// labelPrefix begins what is committed beside an offset: the id of the topic whose offset it is, as Kafka's tools write ids.
// Brokers drop a group's offsets with the topic, but a member that has not noticed yet commits once more, and may not live to
// commit again. The label tells whoever comes next that this offset is one of another log.
const labelPrefix = "topic-id:"

func (id topicID) label() string {
	if !id.known() {
		return ""
	}
	return labelPrefix + base64.RawURLEncoding.EncodeToString(id[:])
}

// foreign says whether an offset with this label belongs to another topic than id. Offsets that others have committed (a tool
// that resets a group, say) have no label, and are taken as they are.
func foreign(label string, id topicID) bool {
	return strings.HasPrefix(label, labelPrefix) && id.known() && label != id.label()
}

// start is where a generation begins in a partition: at offset, or at the log start if that is negative.
type start struct {
	partition int
	offset    int64
	recreated bool // the group's offset is that of a topic which is gone, or is gone with it
}

// begin waits until brokers say which topic there is, and where the group stands in the partitions that were assigned. It
// returns an error only when ctx ends. The id must not be younger than what is fetched later, or labels would claim too much.
func (c *Consumer) begin(ctx context.Context, assigned []kafka.PartitionAssignment) ([]start, error) {
	var retry backoff
	for {
		starts, err := c.positions(ctx, assigned)
		if err == nil {
			c.reporter.ok(opJoin, c.cfg.Group)
			return starts, nil
		}
		if ctx.Err() == nil {
			c.reporter.failed(opJoin, c.cfg.Group, fmt.Errorf("consumer: positions of group %s: %w", c.cfg.Group, err))
		}
		if err := retry.wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (c *Consumer) positions(ctx context.Context, assigned []kafka.PartitionAssignment) ([]start, error) {
	now, err := c.cluster.topicState(ctx, c.input.name)
	if err != nil {
		return nil, err
	}
	c.input.id.Store(&now.id)
	partitions := make([]int, len(assigned))
	for i, a := range assigned {
		partitions[i] = a.ID
	}
	committed, err := c.cluster.committed(ctx, c.cfg.Group, c.input.name, partitions)
	if err != nil {
		return nil, err
	}
	starts := make([]start, len(committed))
	for i, p := range committed {
		starts[i] = start{partition: p.Partition, offset: p.CommittedOffset}
		if p.CommittedOffset >= 0 && foreign(p.Metadata, now.id) {
			starts[i].recreated, starts[i].offset = true, kafka.FirstOffset
		}
		// Brokers drop a group's offsets with the topic. Then the only evidence is that this process has served the old topic: a
		// process that has just started cannot tell this from a group that never committed.
		if p.CommittedOffset < 0 && c.served.known() && now.id.known() && c.served != now.id {
			starts[i].recreated = true
		}
	}
	return starts, nil
}

// committed returns the offsets of a group with their labels, for the partitions asked for.
func (c *cluster) committed(ctx context.Context, group, topic string, partitions []int) ([]kafka.OffsetFetchPartition, error) {
	if len(partitions) == 0 {
		return nil, nil // the request would mean all of them
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	res, err := c.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: partitions}})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return nil, err
	}
	for _, p := range res.Topics[topic] {
		if p.Error != nil {
			return nil, fmt.Errorf("partition %d: %w", p.Partition, p.Error)
		}
	}
	if len(res.Topics[topic]) != len(partitions) {
		return nil, fmt.Errorf("offsets of %d partitions, asked for %d", len(res.Topics[topic]), len(partitions))
	}
	return res.Topics[topic], nil
}

// commit stores the next offsets to read, by partition, for a member of the group, with the label of the topic they belong to.
func (c *cluster) commit(ctx context.Context, gen *kafka.Generation, topic string, id topicID, offsets map[int]int64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := &kafka.OffsetCommitRequest{GroupID: gen.GroupID, GenerationID: int(gen.ID), MemberID: gen.MemberID, Topics: map[string][]kafka.OffsetCommit{}}
	for partition, offset := range offsets {
		req.Topics[topic] = append(req.Topics[topic], kafka.OffsetCommit{Partition: partition, Offset: offset, Metadata: id.label()})
	}
	res, err := c.client.OffsetCommit(ctx, req)
	if err != nil {
		return err
	}
	for _, p := range res.Topics[topic] {
		if p.Error != nil {
			return fmt.Errorf("partition %d: %w", p.Partition, p.Error)
		}
	}
	return nil
}
