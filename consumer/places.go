package consumer

import (
	"encoding/base64"
	"strconv"
	"strings"

	"echosieve/consumer/internal/label"
	"echosieve/consumer/internal/wire"
)

// ownerWords returns the words of a label that say under which producer id the outputs were written, and from where the next owner of the
// partition reads them back.
func ownerWords(pid int64, places []place) []label.Word {
	texts := make([]string, len(places))
	for i, p := range places {
		texts[i] = strings.Join([]string{p.Topic, strconv.Itoa(int(p.Partition)), p.topicID.String(), strconv.FormatInt(p.offset, 10)}, "/")
	}
	return []label.Word{{Name: label.Producer, Value: strconv.FormatInt(pid, 10)}, {Name: label.Outputs, Value: strings.Join(texts, ",")}}
}

// parseOwner reads the words of ownerWords. The producer id is wire.NoProducerID if the label holds none: it was committed by an owner
// without a transactional id, or by a tool. Places that cannot be read are left out.
func parseOwner(text string) (pid int64, places []place) {
	pid, err := strconv.ParseInt(label.Value(text, label.Producer), 10, 64)
	if err != nil {
		return wire.NoProducerID, nil
	}
	for one := range strings.SplitSeq(label.Value(text, label.Outputs), ",") {
		if p, ok := parsePlace(one); ok {
			places = append(places, p)
		}
	}
	return pid, places
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
