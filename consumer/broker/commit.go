package broker

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"
)

// A label is the text that Echosieve commits beside each offset, as the metadata of Kafka's offset
// commits: words that tell the next process what the offset belongs to.
//
//	index:layout=...&namespace=echosieve&recipe=...&window=168h&... topic-id:AQAAAAAAAAAAAAAAAAAAAA
//
// A word is a name, a colon and a value without spaces. Readers look up the names that they know and ignore
// all others, so a version may add words. The words:
//
//   - index: in which index the records below the offset were decided. The format is that of Label in redisindex/watch.
//   - producer: id/epoch under which the partition's owner publishes; absent with delivery at least once.
//   - outputs: topic/partition/topic-id/offset of each output partition, with commas between them. No output
//     of a record at or after the committed offset stands before that offset of the output partition. So the
//     next owner reads from there what is published.
//   - topic-id: the id of the topic whose offset it is. Brokers drop a group's offsets together with the
//     topic, but an offset of the old topic can come back: the topic is deleted and recreated, a member that
//     has not noticed this commits an offset of the old topic once more, and is killed before it notices. The
//     word tells the next member that the offset belongs to another log. It is the last word, because
//     versions without other words compare a label that begins with it as a whole.
//
// Offsets that others have committed, for example a tool that resets a group, have no label and are used as they are.
const (
	wordIndex    = "index"
	wordProducer = "producer"
	wordOutputs  = "outputs"
	wordTopicID  = "topic-id"
)

// Commit is an offset of an input partition in a consumer group, and what its label says.
type Commit struct {
	wire.TopicPartition
	// Next is the offset of the next record to read. Every output of the records before it is acknowledged.
	// It is negative if the group has committed none.
	Next int64
	// Owner is the identity under which the partition's owner publishes. Its ID is wire.NoProducerID if the
	// owner has no transactional id, or if a tool has committed.
	Owner wire.Identity
	// Positions say from where the next owner reads back what is published: in no output partition does an
	// output of a record at or after Next stand before its position.
	Positions []Position
	// Index is the label of the index, or "".
	Index string

	topicID string // of the input topic, as the label has it
}

// metadata returns the label to commit for a topic with the id. It has room in the 4096 bytes that brokers take by
// default (offset.metadata.max.bytes), also with the longest names of topics.
func (c *Commit) metadata(id wire.TopicID) string {
	var words []string
	if c.Index != "" {
		words = append(words, wordIndex+":"+c.Index)
	}
	if c.Owner.ID != wire.NoProducerID {
		positions := make([]string, len(c.Positions))
		for i, p := range c.Positions {
			positions[i] = fmt.Sprintf("%s/%d/%s/%d", p.Topic, p.Partition, p.TopicID, p.Offset)
		}
		words = append(words, fmt.Sprintf("%s:%d/%d", wordProducer, c.Owner.ID, c.Owner.Epoch),
			wordOutputs+":"+strings.Join(positions, ","))
	}
	if id.Known() {
		words = append(words, wordTopicID+":"+id.String())
	}
	return strings.Join(words, " ")
}

// parseCommit reads an offset with its label. Positions that cannot be read are left out.
func parseCommit(topic string, partition int, next int64, text string) Commit {
	c := Commit{
		TopicPartition: wire.TopicPartition{Topic: topic, Partition: int32(partition)}, Next: next,
		Owner: wire.Identity{ID: wire.NoProducerID, Epoch: -1},
		Index: valueOf(text, wordIndex), topicID: valueOf(text, wordTopicID),
	}
	var owner wire.Identity
	if _, err := fmt.Sscanf(valueOf(text, wordProducer), "%d/%d", &owner.ID, &owner.Epoch); err != nil {
		return c
	}
	c.Owner = owner
	for one := range strings.SplitSeq(valueOf(text, wordOutputs), ",") {
		if p, ok := parsePosition(one); ok {
			c.Positions = append(c.Positions, p)
		}
	}
	return c
}

// OfOtherTopic says whether the offset belongs to another topic than the one with the id: a topic that had its
// name and was deleted.
func (c *Commit) OfOtherTopic(id wire.TopicID) bool {
	return c.topicID != "" && id.Known() && c.topicID != id.String()
}

func parsePosition(s string) (p Position, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return Position{}, false
	}
	partition, errPartition := strconv.ParseInt(parts[1], 10, 32)
	id, errID := base64.RawURLEncoding.DecodeString(parts[2])
	offset, errOffset := strconv.ParseInt(parts[3], 10, 64)
	if errPartition != nil || errID != nil || len(id) != len(p.TopicID) || errOffset != nil || offset < 0 ||
		partition < 0 {
		return Position{}, false
	}
	p.TopicPartition = wire.TopicPartition{Topic: parts[0], Partition: int32(partition)}
	p.TopicID, p.Offset = wire.TopicID(id), offset
	return p, true
}

// IndexLabels returns the labels of the index beside committed offsets, by offset.
func IndexLabels(commits []Commit) map[article.Coordinates]string {
	labels := map[article.Coordinates]string{}
	for _, c := range commits {
		if c.Index != "" && c.Next >= 0 {
			labels[article.Coordinates{Topic: c.Topic, Partition: c.Partition, Offset: c.Next}] = c.Index
		}
	}
	return labels
}

// valueOf returns the value of the label's word of that name, or "".
func valueOf(label, name string) string {
	for word := range strings.FieldsSeq(label) {
		if value, ok := strings.CutPrefix(word, name+":"); ok {
			return value
		}
	}
	return ""
}
