package delivery

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
)

// Owner owns one input partition: it knows which outputs are published, and publishes the others. With exactly once
// nobody else can publish the partition's outputs until another process takes it over. Not safe for concurrent use.
type Owner struct {
	// Next is the offset to go on with; negative: the group has committed none.
	Next int64

	input   wire.TopicPartition
	sender  *sender
	writers *writers
	limits  *outputLimits
	topics  *atomic.Pointer[outputTopics]
	memory  time.Duration // how long brokers remember a fence
	own     *ownership    // nil with at least once
}

// Publish returns when every output is acknowledged by all in-sync replicas, except those that their topics refuse
// permanently, which it returns in the order of their input. It tries until ctx ends. The error is ctx's, or
// ErrStandingLost or ErrTakenOver, after which the owner can publish no more. The outputs of each topic keep their
// order.
func (o *Owner) Publish(ctx context.Context, outputs []*pipeline.Output) ([]Refused, error) {
	refusals, err := o.sender.publish(ctx, o.writers, o.input, outputs)
	if err != nil || len(refusals) == 0 {
		return nil, err
	}
	slices.SortFunc(refusals,
		func(a, b Refused) int { return cmp.Compare(a.Output.Record.Offset, b.Output.Record.Offset) })
	o.limits.refused(refusals[0])
	return refusals, nil
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
	case own.moved(o.topics.Load()):
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
	return min(fenceRenewal, o.memory/renewalsInMemory, time.Duration(o.limits.retention.Load())/renewalsInMemory)
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
	if o.sender.cluster.MoveToEnds(ctx, ends) != nil {
		return false // the next refresh does it
	}
	moved = !slices.Equal(ends, o.own.ends)
	o.own.ends, o.own.refreshed = ends, time.Now()
	return moved
}
