package consumer

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"echosieve/consumer/internal/label"
	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go/protocol"
)

// position is an offset in one partition of an output topic.
type position struct {
	wire.TopicPartition
	topicID wire.TopicID
	offset  int64
}

// outputPartition returns the partition that holds the outputs of an input partition, in a topic with so many partitions.
func outputPartition(input int32, partitions int) int32 { return input % int32(partitions) }

// positionsIn returns the starts of the partitions of these topics that hold the outputs of an input partition.
func positionsIn(topics []wire.Topic, input int32) ([]position, error) {
	positions := make([]position, len(topics))
	for i, t := range topics {
		switch {
		case t.Err != nil:
			return nil, fmt.Errorf("%s: %w", t.Name, t.Err)
		case len(t.Partitions) == 0:
			return nil, protocol.NewErrNoTopic(t.Name)
		}
		positions[i] = position{wire.TopicPartition{Topic: t.Name, Partition: outputPartition(input, len(t.Partitions))}, t.ID, 0}
	}
	return positions, nil
}

// ownerWords returns the words of a label that say under which identity the outputs were written, and from where the next owner of the
// partition reads them back.
func ownerWords(as wire.Identity, positions []position) []label.Word {
	texts := make([]string, len(positions))
	for i, p := range positions {
		texts[i] = strings.Join([]string{p.Topic, strconv.Itoa(int(p.Partition)), p.topicID.String(), strconv.FormatInt(p.offset, 10)}, "/")
	}
	return []label.Word{{Name: label.Producer, Value: fmt.Sprintf("%d/%d", as.ID, as.Epoch)}, {Name: label.Outputs, Value: strings.Join(texts, ",")}}
}

// parseOwner reads the words of ownerWords. The producer id is wire.NoProducerID if the label holds none: it was committed by an owner
// without a transactional id, or by a tool. Places that cannot be read are left out.
func parseOwner(text string) (as wire.Identity, positions []position) {
	if _, err := fmt.Sscanf(label.Value(text, label.Producer), "%d/%d", &as.ID, &as.Epoch); err != nil {
		return wire.Identity{ID: wire.NoProducerID, Epoch: -1}, nil
	}
	for one := range strings.SplitSeq(label.Value(text, label.Outputs), ",") {
		if p, ok := parsePosition(one); ok {
			positions = append(positions, p)
		}
	}
	return as, positions
}

func parsePosition(s string) (p position, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return position{}, false
	}
	partition, errPartition := strconv.ParseInt(parts[1], 10, 32)
	id, errID := base64.RawURLEncoding.DecodeString(parts[2])
	offset, errOffset := strconv.ParseInt(parts[3], 10, 64)
	if errPartition != nil || errID != nil || len(id) != len(p.topicID) || errOffset != nil || offset < 0 || partition < 0 {
		return position{}, false
	}
	p.TopicPartition = wire.TopicPartition{Topic: parts[0], Partition: int32(partition)}
	p.topicID, p.offset = wire.TopicID(id), offset
	return p, true
}
