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

// place is a position in one partition of an output topic.
type place struct {
	wire.TopicPartition
	topicID wire.TopicID
	offset  int64
}

// outputPartition returns the partition that holds the outputs of an input partition, in a topic with so many partitions.
func outputPartition(input int32, partitions int) int32 { return input % int32(partitions) }

// placesIn returns the starts of the partitions of these topics that hold the outputs of an input partition.
func placesIn(topics []wire.Topic, input int32) ([]place, error) {
	places := make([]place, len(topics))
	for i, t := range topics {
		switch {
		case t.Err != nil:
			return nil, fmt.Errorf("%s: %w", t.Name, t.Err)
		case len(t.Partitions) == 0:
			return nil, protocol.NewErrNoTopic(t.Name)
		}
		places[i] = place{wire.TopicPartition{Topic: t.Name, Partition: outputPartition(input, len(t.Partitions))}, t.ID, 0}
	}
	return places, nil
}

// ownerWords returns the words of a label that say under which identity the outputs were written, and from where the next owner of the
// partition reads them back.
func ownerWords(as wire.Identity, places []place) []label.Word {
	texts := make([]string, len(places))
	for i, p := range places {
		texts[i] = strings.Join([]string{p.Topic, strconv.Itoa(int(p.Partition)), p.topicID.String(), strconv.FormatInt(p.offset, 10)}, "/")
	}
	return []label.Word{{Name: label.Producer, Value: fmt.Sprintf("%d/%d", as.ID, as.Epoch)}, {Name: label.Outputs, Value: strings.Join(texts, ",")}}
}

// parseOwner reads the words of ownerWords. The producer id is wire.NoProducerID if the label holds none: it was committed by an owner
// without a transactional id, or by a tool. Places that cannot be read are left out.
func parseOwner(text string) (as wire.Identity, places []place) {
	if _, err := fmt.Sscanf(label.Value(text, label.Producer), "%d/%d", &as.ID, &as.Epoch); err != nil {
		return wire.Identity{ID: wire.NoProducerID, Epoch: -1}, nil
	}
	for one := range strings.SplitSeq(label.Value(text, label.Outputs), ",") {
		if p, ok := parsePlace(one); ok {
			places = append(places, p)
		}
	}
	return as, places
}

func parsePlace(s string) (p place, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return place{}, false
	}
	partition, errPartition := strconv.ParseInt(parts[1], 10, 32)
	id, errID := base64.RawURLEncoding.DecodeString(parts[2])
	offset, errOffset := strconv.ParseInt(parts[3], 10, 64)
	if errPartition != nil || errID != nil || len(id) != len(p.topicID) || errOffset != nil || offset < 0 || partition < 0 {
		return place{}, false
	}
	p.TopicPartition = wire.TopicPartition{Topic: parts[0], Partition: int32(partition)}
	p.topicID, p.offset = wire.TopicID(id), offset
	return p, true
}
