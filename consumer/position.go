package consumer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/internal/label"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"

	"github.com/segmentio/kafka-go"
)

// maxNoteBytes bounds a note, so that the label has room for other words.
const maxNoteBytes = 1024

// notesInterval is the time between two looks at the notes of all partitions; tests set a shorter one.
const notesInterval = 5 * time.Second

// Notes are stored beside the group's committed offsets (package label), and survive a restart of all members. The index stores which one
// it is and how far it has counted. So it notices after a restart that Redis has lost data, and that another index was used.
type Notes interface {
	// Note returns the note to store: one word without spaces, at most 1 KiB, or "". It is called before each commit.
	Note() string
	// Recall is called whenever partitions are assigned, and every 5 seconds, with the notes of all partitions of the input topic that
	// have one, by the offset beside which the note stands. Calls may be concurrent. The map belongs to Recall.
	Recall(notes map[article.Coordinates]string)
}

// KeepNotes makes the consumer commit and recall notes. It may be called once, before Run.
func (c *Consumer) KeepNotes(n Notes) { c.notes = n }

// label returns the metadata to commit beside an offset of the topic. words are those of the partition's owner, or none.
func (c *Consumer) label(id wire.TopicID, words ...label.Word) string {
	note, of := "", ""
	if c.notes != nil {
		note = c.notes.Note()
	}
	if len(note) > maxNoteBytes {
		note = ""
	}
	if id.Known() {
		of = id.String()
	}
	words = append([]label.Word{{Name: label.Index, Value: note}}, words...)
	return label.Make(append(words, label.Word{Name: label.TopicID, Value: of})...)
}

// ofOtherTopic says whether an offset with this label belongs to another topic than id.
func ofOtherTopic(text string, id wire.TopicID) bool {
	of := label.Value(text, label.TopicID)
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
	partitions := firstPartitions(len(now.Partitions))
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
	if c.notes != nil {
		c.notes.Recall(notesOf(c.input.name, committed))
	}
}

// notesOf returns the notes beside committed offsets of a topic.
func notesOf(topic string, committed []kafka.OffsetFetchPartition) map[article.Coordinates]string {
	notes := map[article.Coordinates]string{}
	for _, p := range committed {
		if note := cmp.Or(label.Value(p.Metadata, label.Index), label.Value(p.Metadata, label.Note)); note != "" && p.CommittedOffset >= 0 {
			notes[article.Coordinates{Topic: topic, Partition: int32(p.Partition), Offset: p.CommittedOffset}] = note
		}
	}
	return notes
}

// watchNotes recalls the notes until ctx ends, because members that commit beside this one do not tell it. A request
// that fails is left to the next time: what the members need to work reports the fault.
func (c *Consumer) watchNotes(ctx context.Context) {
	if c.notes == nil {
		return
	}
	tick := time.NewTicker(c.notesInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		n, err := c.cluster.partitions(ctx, c.input.name)
		if err != nil {
			continue
		}
		if committed, err := c.cluster.committed(ctx, c.cfg.Group, c.input.name, firstPartitions(n)); err == nil {
			c.recallNotes(committed)
		}
	}
}

// firstPartitions returns the ids of the partitions of a topic with n partitions.
func firstPartitions(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}
