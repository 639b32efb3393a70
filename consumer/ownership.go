package consumer

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/consumer/internal/label"
	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go/protocol"
)

const (
	// positionsInterval is the time between two refreshes of the positions of a partition: see
	// partition.refreshPositions. In that time the other writers of an output partition write no more than a
	// take-over can read in a moment.
	positionsInterval = 30 * time.Second
	// fenceRenewal is the longest time between two renewals of a fence. Brokers forget a silent producer
	// after a day, and a transactional id after seven days, by default.
	fenceRenewal = 6 * time.Hour
	// renewalsInMemory is how often a fence is renewed, at least, while brokers remember it.
	renewalsInMemory = 3
	// producerForgotten is producer.id.expiration.ms by default.
	producerForgotten = 24 * time.Hour
	// upkeepInterval is the time between two looks whether there is something to do for the ownership of a partition.
	upkeepInterval = time.Second
)

// position is an offset in one partition of an output topic.
type position struct {
	wire.TopicPartition
	topicID wire.TopicID
	offset  int64
}

// ownership is the result of a take-over.
type ownership struct {
	by *takeover
	as wire.Identity
	// next is the offset to go on with, negative if the group has committed none.
	next int64
	// acknowledged are the records from next on whose outputs stand in the output topics.
	acknowledged offsetSet
	// inputEnd is the end of the input partition, as far as it was asked for: all records that anybody can
	// have published lie before it.
	inputEnd int64
	// foreign are records that were met while reading back.
	foreign foreign
	// before are the positions from which the output partitions were read back. As long as records in
	// acknowledged lie ahead, they are committed again.
	before []position
	// ends are the output partitions of this input partition, each with a position of which every output
	// before it belongs to a record before the mark, or is in acknowledged.
	ends []position
	// labelled says that the commit of next names a position in every output partition.
	labelled bool
	// fenced says that no earlier owner can publish, or has published, anything that this owner does not know.
	fenced bool

	began     time.Time // of the take-over
	fencedAt  time.Time // when markers of this epoch were written last
	refreshed time.Time // when ends were moved last
}

// outputTopics are the output topics as a broker has described them.
type outputTopics struct {
	topics []wire.Topic
	asked  time.Time
}

func (o *ownership) identity() fencedIdentity { return fencedIdentity{o.as, o.by.memory} }

// renew writes markers of the same epoch once more. So brokers do not forget the transactional id, the
// leaders do not forget the epoch, and retention does not remove the last marker. The error is errTakenOver
// or errStandingLost.
func (o *ownership) renew(ctx context.Context) error {
	if err := o.by.fence(ctx, o.ends); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the work ends
		}
		return fmt.Errorf("%w: %w", o.identity().refused(err), err)
	}
	o.fencedAt = time.Now()
	return nil
}

// positions returns the positions to commit with the mark next, while no output is on its way.
func (o *ownership) positions(next int64, ws *writers) []position {
	if o.acknowledged.len > 0 && next <= o.acknowledged.highest {
		return o.before
	}
	positions := slices.Clone(o.ends)
	for i := range positions {
		for _, w := range ws {
			if w != nil && w.topic == positions[i].Topic && w.end > positions[i].offset {
				positions[i].offset = w.end
			}
		}
	}
	return positions
}

// moved says whether the output partitions are others than those that the take-over has fenced: a topic was
// recreated, or has got more partitions. now may be nil.
func (o *ownership) moved(now *outputTopics) bool {
	if now == nil || !now.asked.After(o.began) {
		return false
	}
	positions, err := positionsIn(now.topics, o.by.partition)
	return err == nil && slices.ContainsFunc(positions, func(p position) bool {
		return !slices.ContainsFunc(o.ends, func(e position) bool {
			return e.TopicPartition == p.TopicPartition &&
				e.topicID == p.topicID
		})
	})
}

// upkeep keeps up what the take-over has established. The error is errTakenOver or errStandingLost.
func (p *partition) upkeep(ctx context.Context) error {
	switch own := p.own; {
	case own.moved(p.c.outputs.Load()):
		return errors.Join(errStandingLost, errOutputsChanged)
	case time.Since(own.fencedAt) >= p.c.renewalInterval(), p.fades():
		for _, w := range p.writers {
			if w != nil {
				w.latest = time.Time{}
			}
		}
		return own.renew(ctx)
	case time.Since(own.refreshed) >= positionsInterval:
		p.refreshPositions(ctx)
	}
	return nil
}

// fades says whether a leader may forget this owner soon. Brokers take the latest timestamp in a producer's
// latest record batch for the time at which they heard of the producer, and outputs have the timestamps of
// the input: after an old article, the next look at expired producers removes this one, and a former owner
// could publish. A marker has the time of the broker's clock. While the owner publishes, each of its record
// batches makes the leader remember it again.
func (p *partition) fades() bool {
	for _, w := range p.writers {
		if w != nil && !w.latest.IsZero() && !w.identity.remembered(w.latest) {
			return true
		}
	}
	return false
}

// refreshPositions moves the positions to the ends of the output partitions. Partitions that publish little
// would otherwise keep old positions, and their next owner would read all that others have published since.
func (p *partition) refreshPositions(ctx context.Context) {
	ends := slices.Clone(p.own.ends)
	if p.c.cluster.moveToEnds(ctx, ends) != nil {
		return // the next refresh does it
	}
	p.own.ends, p.own.refreshed = ends, time.Now()
	if now := p.mark.Load(); !slices.Equal(now.positions, p.own.positions(now.next, p.writers)) {
		p.setMark(now.next)
	}
}

// outputPartition returns the partition that holds the outputs of an input partition, in a topic with so many
// partitions.
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
		positions[i] = position{
			wire.TopicPartition{Topic: t.Name, Partition: outputPartition(input, len(t.Partitions))}, t.ID, 0}
	}
	return positions, nil
}

// ownerWords returns the words of a label that say under which identity the outputs were written, and from
// where the next owner of the partition reads them back.
func ownerWords(as wire.Identity, positions []position) []label.Word {
	texts := make([]string, len(positions))
	for i, p := range positions {
		texts[i] = strings.Join([]string{p.Topic, strconv.Itoa(int(p.Partition)), p.topicID.String(),
			strconv.FormatInt(p.offset, 10)}, "/")
	}
	return []label.Word{{Name: label.Producer, Value: fmt.Sprintf("%d/%d", as.ID, as.Epoch)},
		{Name: label.Outputs, Value: strings.Join(texts, ",")}}
}

// parseOwner reads the words of ownerWords. The producer id is wire.NoProducerID if the label holds none: it
// was committed by an owner without a transactional id, or by a tool. Positions that cannot be read are left
// out.
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
	if errPartition != nil || errID != nil || len(id) != len(p.topicID) || errOffset != nil || offset < 0 ||
		partition < 0 {
		return position{}, false
	}
	p.TopicPartition = wire.TopicPartition{Topic: parts[0], Partition: int32(partition)}
	p.topicID, p.offset = wire.TopicID(id), offset
	return p, true
}
