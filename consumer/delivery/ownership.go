package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/pipeline/article"

	"github.com/segmentio/kafka-go/protocol"
)

const (
	// positionsInterval is the time between two refreshes of the positions of a partition: see
	// Owner.refresh. In that time the other writers of an output partition write no more than a
	// take-over can read in a moment.
	positionsInterval = 30 * time.Second
	// fenceRenewal is the longest time between two renewals of a fence. Brokers forget a silent producer
	// after a day, and a transactional id after seven days, by default.
	fenceRenewal = 6 * time.Hour
	// producerForgotten is producer.id.expiration.ms by default.
	producerForgotten = 24 * time.Hour
	// UpkeepInterval is the time between two calls of Owner.Upkeep.
	UpkeepInterval = time.Second
)

// Owner owns one input partition: it knows which outputs are published, and publishes the others. With exactly once
// nobody else can publish the partition's outputs until another process takes it over. Not safe for concurrent use.
type Owner struct {
	// Next is the offset to go on with; negative: the group has committed none.
	Next int64

	d       *Delivery
	input   wire.TopicPartition
	writers *writers
	own     *ownership // nil with at least once
}

// Acknowledged says whether the output of an input record was published by an earlier owner: it must not be
// published again.
func (o *Owner) Acknowledged(offset int64) bool {
	return o.own != nil && o.own.acknowledged.has(offset)
}

// Positions returns what to commit when every output of the records before next is acknowledged. It is called only
// while no output is on its way. The commit stays true however much later it is sent.
func (o *Owner) Positions(next int64) *broker.Commit {
	c := &broker.Commit{TopicPartition: o.input, Next: next, Owner: wire.Identity{ID: wire.NoProducerID}}
	if o.own != nil {
		c.Owner, c.Positions = o.own.as, o.own.positions(next, o.writers)
	}
	return c
}

// Upkeep keeps up what the take-over has established. It is called every UpkeepInterval, while no output is on its
// way. moved says that Positions returns later positions than before. The error is ErrTakenOver or ErrStandingLost.
func (o *Owner) Upkeep(ctx context.Context) (moved bool, err error) {
	switch own := o.own; {
	case own == nil:
		return false, nil
	case own.moved(o.d.topics.Load(), o.input.Partition):
		return false, errors.Join(ErrStandingLost, errOutputsChanged)
	case time.Since(own.fencedAt) >= o.renewalInterval(), o.fades():
		for _, w := range o.writers {
			if w != nil {
				w.latest = time.Time{}
			}
		}
		return false, own.renew(ctx)
	case time.Since(own.refreshed) >= positionsInterval:
		return o.refresh(ctx), nil
	}
	return false, nil
}

// renewalInterval is the time between two renewals of a fence. It is shorter where brokers forget a fence
// sooner than by default.
func (o *Owner) renewalInterval() time.Duration {
	return min(fenceRenewal, o.d.fenceMemory/renewalsInMemory, time.Duration(o.d.retention.Load())/renewalsInMemory)
}

// fades says whether a leader may forget this owner soon. Brokers take the latest timestamp in a producer's
// latest record batch for the time at which they heard of the producer, and outputs have the timestamps of
// the input: after an old article, the next look at expired producers removes this one, and a former owner
// could publish. A marker has the time of the broker's clock. While the owner publishes, each of its record
// batches makes the leader remember it again.
func (o *Owner) fades() bool {
	for _, w := range o.writers {
		if w != nil && !w.latest.IsZero() && !w.identity.remembered(w.latest) {
			return true
		}
	}
	return false
}

// refresh moves the positions to the ends of the output partitions. Partitions that publish little would otherwise keep
// old positions, and their next owner would read all that others have published since.
func (o *Owner) refresh(ctx context.Context) (moved bool) {
	ends := slices.Clone(o.own.ends)
	if broker.MoveToEnds(ctx, o.d.cluster, ends) != nil {
		return false // the next refresh does it
	}
	moved = !slices.Equal(ends, o.own.ends)
	o.own.ends, o.own.refreshed = ends, time.Now()
	return moved
}

// ownership is the result of a take-over.
type ownership struct {
	by *fencer
	as wire.Identity
	// next is the offset to go on with, negative if the group has committed none.
	next int64
	// acknowledged are the records from next on whose outputs stand in the output topics.
	acknowledged offsetSet
	// foreign are records that were met while reading back.
	foreign foreign
	// before are the positions from which the output partitions were read back. As long as records in
	// acknowledged lie ahead, they are committed again.
	before []broker.Position
	// ends has a position in each output partition of this input partition. The next owner reads back from there:
	// each output before a position belongs to a record that is done, or acknowledged holds that record.
	ends []broker.Position
	// labelled says that the commit of next names a position in every output partition.
	labelled bool
	// fenced says that no earlier owner can publish, or has published, anything that this owner does not know.
	fenced bool

	began     time.Time // of the take-over
	fencedAt  time.Time // when markers of this epoch were written last
	refreshed time.Time // when ends were moved last
}

func (o *ownership) identity() fencedIdentity { return fencedIdentity{o.as, o.by.memory} }

// renew writes markers of the same epoch once more. So brokers do not forget the transactional id, the
// leaders do not forget the epoch, and retention does not remove the last marker. The error is ErrTakenOver
// or ErrStandingLost.
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

// positions returns the positions to commit with the offset next, while no output is on its way.
func (o *ownership) positions(next int64, ws *writers) []broker.Position {
	if o.acknowledged.len > 0 && next <= o.acknowledged.highest {
		return o.before
	}
	positions := slices.Clone(o.ends)
	for i := range positions {
		for _, w := range ws {
			if w != nil && w.topic == positions[i].Topic && w.end > positions[i].Offset {
				positions[i].Offset = w.end
			}
		}
	}
	return positions
}

// moved says whether the output partitions are others than those that the take-over has fenced: a topic was
// recreated, or has got more partitions. now may be nil.
func (o *ownership) moved(now *outputTopics, input int32) bool {
	if now == nil || !now.asked.After(o.began) {
		return false
	}
	positions, err := positionsIn(now.topics, input)
	return err == nil && slices.ContainsFunc(positions, func(p broker.Position) bool {
		return !slices.ContainsFunc(o.ends,
			func(e broker.Position) bool { return e.TopicPartition == p.TopicPartition && e.TopicID == p.TopicID })
	})
}

// OutputPartition returns the partition that holds the outputs of an input partition, in a topic with so many
// partitions.
func OutputPartition(input int32, partitions int) int32 { return input % int32(partitions) }

// positionsIn returns the starts of the partitions of these topics that hold the outputs of an input partition.
func positionsIn(topics []wire.Topic, input int32) ([]broker.Position, error) {
	positions := make([]broker.Position, len(topics))
	for i, t := range topics {
		switch {
		case t.Err != nil:
			return nil, fmt.Errorf("%s: %w", t.Name, t.Err)
		case len(t.Partitions) == 0:
			return nil, protocol.NewErrNoTopic(t.Name)
		}
		at := wire.TopicPartition{Topic: t.Name, Partition: OutputPartition(input, len(t.Partitions))}
		positions[i] = broker.Position{TopicPartition: at, TopicID: t.ID}
	}
	return positions, nil
}

// foreign is what a take-over has found under our producer id that is none of our outputs: whoever may write to an
// output topic can write under any producer id, and another program may have had our transactional id.
type foreign struct {
	count int
	named []string // the first ones, with their places
	// above is the place of a record batch with an epoch above ours, or "".
	above string
}

// mostNamed is the number of foreign records that are named.
const mostNamed = 5

func (f *foreign) add(at article.Coordinates, why string) {
	f.count++
	if len(f.named) < mostNamed {
		f.named = append(f.named, at.String()+": "+why)
	}
}

// noMarker returns errNoMarker, with the cause if it is known. Leaders take any higher epoch, and then refuse markers
// of ours. Our coordinator gives out one epoch after the other, so waiting does not help. A new producer id would, but
// it fences nobody: an owner that is frozen would go on publishing under the old one. So a person decides.
func (f *foreign) noMarker() error {
	if f.above == "" {
		return errNoMarker
	}
	return &diag.Problem{
		Cause: "another program has written with the producer id of this service and an epoch above it, at " + f.above +
			": brokers refuse the marker",
		Remedy: "let no other program write to the output topics, stop all processes of the group, and start them " +
			"with a new kafka.transactional_id_prefix",
		Err: errNoMarker,
	}
}

// offsetSet is a set of offsets. Its memory grows with the number of offsets, not with their distance.
type offsetSet struct {
	words   map[int64]uint64 // one bit for each of 64 offsets in a row
	highest int64            // of the offsets added; only valid if len is above 0
	len     int
}

func (s *offsetSet) add(offset int64) {
	if s.has(offset) {
		return
	}
	if s.words == nil {
		s.words = map[int64]uint64{}
	}
	s.words[offset/64] |= 1 << (offset % 64)
	if s.len == 0 || offset > s.highest {
		s.highest = offset
	}
	s.len++
}

// has says whether an offset was added. It may be negative.
func (s *offsetSet) has(offset int64) bool {
	return offset >= 0 && s.words[offset/64]>>(offset%64)&1 == 1
}
