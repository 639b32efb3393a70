package consumer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/internal/wire"
)

// ownership is the result of a take-over.
type ownership struct {
	by *takeover
	as wire.Identity
	// next is the offset to go on with, negative if the group has committed none.
	next int64
	// acknowledged are the records from next on whose outputs stand in the output topics.
	acknowledged offsetSet
	// before are the positions from which the output partitions were read back. As long as records in acknowledged lie ahead, they are
	// committed again.
	before []position
	// ends are the output partitions of this input partition, each with a position of which every output before it belongs to a record
	// before the mark, or is in acknowledged.
	ends []position
	// labelled says that the commit of next names a position in every output partition.
	labelled bool
	// fenced says that no earlier owner can publish, or has published, anything that this owner does not know.
	fenced bool

	began     time.Time // of the take-over
	fencedAt  time.Time // when markers of this epoch were written last
	refreshed time.Time // when ends were moved last
}

const (
	// positionsInterval is the time between two refreshes of the positions of a partition: see partition.refreshPositions. In that time the other
	// writers of an output partition write no more than a take-over can read in a moment.
	positionsInterval = 30 * time.Second
	// fenceRenewal is the longest time between two renewals of a fence. Brokers forget a silent producer after a day, and a transactional id
	// after seven days, by default.
	fenceRenewal = 6 * time.Hour
	// renewalsInMemory is how often a fence is renewed, at least, while brokers remember it.
	renewalsInMemory = 3
	// producerForgotten is producer.id.expiration.ms by default.
	producerForgotten = 24 * time.Hour
	// upkeepInterval is the time between two looks whether there is something to do for the ownership of a partition.
	upkeepInterval = time.Second
)

func (o *ownership) identity() fencedIdentity { return fencedIdentity{o.as, o.by.memory} }

// renew writes markers of the same epoch once more. So brokers do not forget the transactional id, the leaders do not forget the epoch,
// and retention does not remove the last marker. The error is errTakenOver or errStandingLost.
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

// outputTopics are the output topics as a broker has described them.
type outputTopics struct {
	topics []wire.Topic
	asked  time.Time
}

// moved says whether the output partitions are others than those that the take-over has fenced: a topic was recreated, or has got more
// partitions. now may be nil.
func (o *ownership) moved(now *outputTopics) bool {
	if now == nil || !now.asked.After(o.began) {
		return false
	}
	positions, err := positionsIn(now.topics, o.by.partition)
	return err == nil && slices.ContainsFunc(positions, func(p position) bool {
		return !slices.ContainsFunc(o.ends, func(e position) bool { return e.TopicPartition == p.TopicPartition && e.topicID == p.topicID })
	})
}

// offsetSet is a set of offsets at or above from, one bit for each offset up to the highest.
type offsetSet struct {
	from    int64
	bits    []uint64
	highest int64 // of the offsets added; only valid if len is above 0
	len     int
}

func (s *offsetSet) add(offset int64) {
	at := offset - s.from
	for int64(len(s.bits)) <= at/64 {
		s.bits = append(s.bits, 0)
	}
	if !s.has(offset) {
		s.bits[at/64] |= 1 << (at % 64)
		s.highest = max(s.highest, offset)
		s.len++
	}
}

func (s *offsetSet) has(offset int64) bool {
	at := offset - s.from
	return at >= 0 && at/64 < int64(len(s.bits)) && s.bits[at/64]>>(at%64)&1 == 1
}
