package consumer

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
)

// labelPrefix begins the word of the label, committed beside an offset, that holds the id of the topic whose offset it is, as
// Kafka's tools write ids. Brokers drop a group's offsets with the topic, but a member that has not noticed yet commits once
// more, and may not live to commit again. The label tells whoever comes next that this offset is one of another log.
const labelPrefix = "topic-id:"

// notePrefix begins the word of the label that holds a note of Notes. It comes first: versions of Echosieve that know no notes
// compare a label that begins with labelPrefix as a whole, and would take the offset for one of another topic.
const notePrefix = "note:"

// maxNoteBytes bounds a note. Brokers refuse metadata above offset.metadata.max.bytes, 4096 by default.
const maxNoteBytes = 1024

// Notes is told, whenever partitions are assigned, what it last said beside the group's committed offsets. It may thus know
// after a restart what the service had reached before.
type Notes interface {
	// Note is a word without spaces, or empty, at most 1 KiB long. It is asked for before each commit.
	Note() string
	// Recall takes the notes of all partitions of the input topic that have one, in any order.
	Recall(notes []string)
}

// KeepNotes is called before Run, if at all.
func (c *Consumer) KeepNotes(n Notes) { c.notes = n }

// label is what is committed beside an offset.
func (c *Consumer) label(id topicID) string {
	var words []string
	if c.notes != nil {
		if note := c.notes.Note(); note != "" && len(note) <= maxNoteBytes {
			words = append(words, notePrefix+note)
		}
	}
	if id.known() {
		words = append(words, labelPrefix+id.String())
	}
	return strings.Join(words, " ")
}

// wordOf returns what follows the prefix in the label's word that begins with it, or nothing.
func wordOf(label, prefix string) string {
	for word := range strings.FieldsSeq(label) {
		if rest, ok := strings.CutPrefix(word, prefix); ok {
			return rest
		}
	}
	return ""
}

func (id topicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// foreign says whether an offset with this label belongs to another topic than id. Offsets that others have committed (a tool
// that resets a group, say) have no label, and are taken as they are.
func foreign(label string, id topicID) bool {
	of := wordOf(label, labelPrefix)
	return of != "" && id.known() && of != id.String()
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
	// All partitions, for their notes: the members of the group must know the same before one of them writes anything.
	partitions := make([]int, now.partitions)
	for i := range partitions {
		partitions[i] = i
	}
	for _, a := range assigned {
		if a.ID >= now.partitions {
			partitions = append(partitions, a.ID)
		}
	}
	committed, err := c.cluster.committed(ctx, c.cfg.Group, c.input.name, partitions)
	if err != nil {
		return nil, err
	}
	c.recall(committed)
	starts := make([]start, 0, len(assigned))
	for _, p := range committed {
		if !slices.ContainsFunc(assigned, func(a kafka.PartitionAssignment) bool { return a.ID == p.Partition }) {
			continue
		}
		at := start{partition: p.Partition, offset: p.CommittedOffset}
		if p.CommittedOffset >= 0 && foreign(p.Metadata, now.id) {
			at.recreated, at.offset = true, kafka.FirstOffset
		}
		// Brokers drop a group's offsets with the topic. Then the only evidence is that this process has served the old topic: a
		// process that has just started cannot tell this from a group that never committed.
		if p.CommittedOffset < 0 && c.served.known() && now.id.known() && c.served != now.id {
			at.recreated = true
		}
		starts = append(starts, at)
	}
	return starts, nil
}

// recall hands the notes beside committed offsets on.
func (c *Consumer) recall(committed []kafka.OffsetFetchPartition) {
	if c.notes == nil {
		return
	}
	var notes []string
	for _, p := range committed {
		if note := wordOf(p.Metadata, notePrefix); note != "" {
			notes = append(notes, note)
		}
	}
	c.notes.Recall(notes)
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

// commit stores the next offsets to read, by partition, for a member of the group, with a label.
func (c *cluster) commit(ctx context.Context, gen *kafka.Generation, topic, label string, offsets map[int]int64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := &kafka.OffsetCommitRequest{GroupID: gen.GroupID, GenerationID: int(gen.ID), MemberID: gen.MemberID, Topics: map[string][]kafka.OffsetCommit{}}
	for partition, offset := range offsets {
		req.Topics[topic] = append(req.Topics[topic], kafka.OffsetCommit{Partition: partition, Offset: offset, Metadata: label})
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
