package consumer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go"
)

// topicIDPrefix begins the word of a label that holds the id of the topic whose offset is committed. A label is committed as
// metadata beside each offset. Brokers drop a group's offsets together with the topic, but an offset of the old topic can
// come back: the topic is deleted and recreated, a member that has not noticed this commits an offset of the old topic once more, and
// is killed before it notices. The label tells the next member that the offset belongs to another log.
const topicIDPrefix = "topic-id:"

// notePrefix begins the word of a label that holds a note of Notes. It stands before the topic id: versions of Echosieve without
// notes compare a label that begins with topicIDPrefix as a whole, and would take the offset for one of another topic.
const notePrefix = "note:"

// maxNoteBytes bounds a note. Brokers refuse metadata above offset.metadata.max.bytes, 4096 by default.
const maxNoteBytes = 1024

// Notes are stored beside the group's committed offsets, and survive a restart of all members. The index stores how far it has counted,
// and so notices after a restart that Redis has lost data.
type Notes interface {
	// Note returns the note to store: one word without spaces, at most 1 KiB, or "". It is called before each commit.
	Note() string
	// Recall is called whenever partitions are assigned, with the notes of all partitions of the input topic that have one, in any
	// order.
	Recall(notes []string)
}

// KeepNotes makes the consumer commit and recall notes. It may be called once, before Run.
func (c *Consumer) KeepNotes(n Notes) { c.notes = n }

// label returns the metadata to commit beside offsets of the topic.
func (c *Consumer) label(id wire.TopicID) string {
	var words []string
	if c.notes != nil {
		if note := c.notes.Note(); note != "" && len(note) <= maxNoteBytes {
			words = append(words, notePrefix+note)
		}
	}
	if id.Known() {
		words = append(words, topicIDPrefix+id.String())
	}
	return strings.Join(words, " ")
}

// labelWord returns the rest of the label's word that begins with the prefix, or "".
func labelWord(label, prefix string) string {
	for word := range strings.FieldsSeq(label) {
		if rest, ok := strings.CutPrefix(word, prefix); ok {
			return rest
		}
	}
	return ""
}

// ofOtherTopic says whether an offset with this label belongs to another topic than id. Offsets that others have committed, for
// example a tool that resets a group, have no label and are used as they are.
func ofOtherTopic(label string, id wire.TopicID) bool {
	of := labelWord(label, topicIDPrefix)
	return of != "" && id.Known() && of != id.String()
}

// start is where a group generation begins in a partition: at offset, or at the log start if offset is negative.
type start struct {
	partition int
	offset    int64
	recreated bool // the group's offset belonged to a topic that was deleted and recreated
}

// startPositions asks brokers for the topic's id and for the group's offsets in the assigned partitions, until they answer. It
// returns an error only when ctx ends.
func (c *Consumer) startPositions(ctx context.Context, assigned []kafka.PartitionAssignment) ([]start, error) {
	var retry backoff
	for {
		starts, err := c.startPositionsOnce(ctx, assigned)
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

func (c *Consumer) startPositionsOnce(ctx context.Context, assigned []kafka.PartitionAssignment) ([]start, error) {
	// The topic's id is read before anything is fetched. Otherwise the topic could be recreated in between: records of the old topic
	// would be committed under the id of the new one, and a restart would resume in the new topic at an offset of the old.
	now, err := c.cluster.topic(ctx, c.input.name)
	if err != nil {
		return nil, err
	}
	c.input.id.Store(&now.ID)
	// Offsets of all partitions are read, for their notes: the members of the group must know the same before one of them writes.
	partitions := make([]int, len(now.Partitions))
	for i := range partitions {
		partitions[i] = i
	}
	for _, a := range assigned {
		if a.ID >= len(now.Partitions) {
			partitions = append(partitions, a.ID)
		}
	}
	committed, err := c.cluster.committed(ctx, c.cfg.Group, c.input.name, partitions)
	if err != nil {
		return nil, err
	}
	c.recallNotes(committed)
	starts := make([]start, 0, len(assigned))
	for _, p := range committed {
		if !slices.ContainsFunc(assigned, func(a kafka.PartitionAssignment) bool { return a.ID == p.Partition }) {
			continue
		}
		at := start{partition: p.Partition, offset: p.CommittedOffset}
		if p.CommittedOffset >= 0 && ofOtherTopic(p.Metadata, now.ID) {
			at.recreated, at.offset = true, kafka.FirstOffset
		}
		// Brokers drop a group's offsets with the topic. Then the only evidence is that this process has served the old topic. A
		// process that has just started cannot tell this case from a group that never committed.
		if p.CommittedOffset < 0 && c.lastServed.Known() && now.ID.Known() && c.lastServed != now.ID {
			at.recreated = true
		}
		starts = append(starts, at)
	}
	return starts, nil
}

func (c *Consumer) recallNotes(committed []kafka.OffsetFetchPartition) {
	if c.notes == nil {
		return
	}
	var notes []string
	for _, p := range committed {
		if note := labelWord(p.Metadata, notePrefix); note != "" {
			notes = append(notes, note)
		}
	}
	c.notes.Recall(notes)
}
