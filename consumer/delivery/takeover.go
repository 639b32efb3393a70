package delivery

import (
	"context"
	"fmt"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"
)

// Input is an input partition to own.
type Input struct {
	wire.TopicPartition
	TopicID   wire.TopicID // of the input topic
	Committed int64        // the offset that the group has committed, negative if there is none
	// Store commits for the partition, as a member of the group.
	Store func(context.Context, ...broker.Commit) error
}

// Own makes this process the owner of an input partition. With exactly once it takes the partition over: it repeats
// attempts until one succeeds, and commits the position if the commit that was there does not say where to read back.
// The error is ctx's or ErrTakenOver.
func (d *Delivery) Own(ctx context.Context, in Input) (*Owner, error) {
	owner := &Owner{Next: in.Committed, d: d, input: in.TopicPartition}
	if !d.exactlyOnce {
		owner.writers = d.ownWriters(in.TopicPartition)
		return owner, nil
	}
	own, err := d.takeOver(ctx, in)
	if err != nil {
		return nil, err
	}
	owner.own, owner.Next, owner.writers = own, own.next, d.fencedWriters(in.TopicPartition, own)
	return owner, nil
}

// takeOver repeats attempts until one succeeds.
func (d *Delivery) takeOver(ctx context.Context, in Input) (own *ownership, err error) {
	if err := d.takeovers.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer d.takeovers.Release(1)
	t := &takeover{
		fencer: fencer{
			cluster: d.cluster, id: transactionalID(idPrefix(&d.cluster.Config), in.TopicPartition),
			memory: min(d.fenceMemory, producerForgotten),
		},
		limiter: d.limiter, input: in,
		askInputEnd: func(ctx context.Context) (int64, error) {
			_, end, err := d.cluster.Partition(in.Topic, in.Partition).Offsets(ctx)
			return end, err
		},
	}
	began := time.Now()
	err = d.reporter.Until(ctx, broker.OpTakeOver, in.String(), func(ctx context.Context) error {
		own, err = d.tryTakeOver(ctx, t, in)
		switch {
		case react(err) == leave:
			return stopping.Final(ErrTakenOver)
		case err != nil:
			return fmt.Errorf("consumer: take over %s: %w", in, err)
		}
		return nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	d.metrics.TakeoverSeconds.Observe(time.Since(began).Seconds())
	outcome := broker.OutcomeFenced
	if !own.fenced {
		outcome = broker.OutcomeUnfenced
	}
	d.metrics.Takeovers.WithLabelValues(outcome).Inc()
	if n := own.foreign.count; n > 0 {
		d.metrics.Skipped.WithLabelValues("foreign").Add(float64(n))
		d.log.Warn("skipped records in output topics that are under this service's producer id and none of its outputs",
			"topic", in.Topic, "partition", in.Partition, "count", n, "first", own.foreign.named)
	}
	return own, nil
}

// tryTakeOver makes one attempt, and commits the position if need be.
func (d *Delivery) tryTakeOver(ctx context.Context, t *takeover, in Input) (*ownership, error) {
	began := time.Now()
	positions, err := d.positions(ctx, in.Partition)
	if err != nil {
		return nil, fmt.Errorf("output partitions: %w", err)
	}
	own, err := t.attempt(ctx, positions)
	if err != nil {
		return nil, err
	}
	own.began, own.refreshed = began, began
	if own.labelled {
		return own, nil
	}
	if own.next < 0 {
		if own.next, _, err = d.cluster.Partition(in.Topic, in.Partition).Offsets(ctx); err != nil {
			return nil, fmt.Errorf("log start: %w", err)
		}
	}
	// The first output is published only after the next owner can find it.
	return own, in.Store(ctx, broker.Commit{
		TopicPartition: in.TopicPartition, Next: own.next, Owner: own.as,
		Positions: own.positions(own.next, &writers{}),
	})
}

// positions returns the output partitions of an input partition, with the ends of their logs.
func (d *Delivery) positions(ctx context.Context, partition int32) ([]broker.Position, error) {
	m, err := d.cluster.Metadata(ctx, d.cluster.Config.Topics.Outputs())
	if err != nil {
		return nil, err
	}
	positions, err := positionsIn(m.Topics, partition)
	if err != nil {
		return nil, err
	}
	return positions, broker.MoveToEnds(ctx, d.cluster, positions)
}

// A take-over makes this process the only writer for one input partition, and finds out what its former
// owners have published. It runs at the start of a group generation, before the partition is fetched, and
// again when a leader has lost the sequence numbers of this writer. Each input partition has a transactional
// id of its own, so whoever takes over fences the former owner, whatever its name.
//
//  1. init: the coordinator of the id gives out the id's producer id with the next epoch.
//  2. fence: an empty transaction over the output partitions. Its markers carry the new epoch into their
//     logs. Once the leader of an output partition has appended the marker, it refuses every batch of an
//     older epoch.
//  3. position: the group's committed offset, and the positions that were committed with it. In no output
//     partition does an output of a record at or after the offset stand before its position.
//  4. read back: each output partition, from its position to our own marker. This gives the records at or
//     after the committed offset that are published already.
//  5. run: every record from the committed offset on is decided. Those that are published already are not
//     published again.
//
// Which interleavings each step closes, with A the former owner and B the process that takes over:
//
//   - A publishes, and dies before it commits. B finds the output in step 4.
//   - A is frozen, B takes over, A wakes and goes on. Its batches carry an older epoch: the leader refuses
//     them after the marker.
//   - A broker holds A's last request during the take-over. If it appends the batch before the marker, B
//     finds it in step 4, because B reads to its own marker and not to the end that it sees. If it comes to
//     the batch after the marker, it refuses the batch.
//   - A reads back, and B takes over meanwhile. A's own marker has an older epoch than B's. A's first batch is refused.
//   - B commits a new offset while records that step 4 has found still lie ahead, and C takes over from B.
//     The commit holds the old positions until the offset has passed all records that were found (see
//     ownership.positions): so C finds them, too.
//   - A commits after B has read the position. The group's coordinator refuses it, because B is in a later
//     group generation.
//   - A sends a batch of old articles, and the acknowledgement is lost. Leaders measure their memory of a
//     producer by the timestamps in its batches, so a restarted leader may have forgotten A, and would append
//     the same batch again. A sends no such batch again: it takes the partition over anew, and step 4 finds
//     the batch if it was appended.
//   - Redis has lost a verdict, and B decides a record differently from A. B looks for the record in all
//     output partitions, not only in that of the new verdict.
//
// No error is answered with a higher epoch that this process has chosen itself: leaders accept any higher
// epoch, and so the fence of the next owner would be overtaken.
type takeover struct {
	fencer
	limiter     *broker.Limiter
	input       Input
	askInputEnd func(context.Context) (int64, error)
}

// attempt goes through the steps 1 to 4. positions are the output partitions of this input partition as they are now.
func (t *takeover) attempt(ctx context.Context, positions []broker.Position) (*ownership, error) {
	if err := t.init(ctx); err != nil {
		return nil, err
	}
	crashpoint.Here(crashpoint.AfterInit)
	if err := t.fence(ctx, positions); err != nil {
		return nil, err
	}
	own := &ownership{by: &t.fencer, as: t.as, fencedAt: time.Now()}
	committed, err := t.position(ctx)
	if err != nil {
		return nil, err
	}
	sameID := committed.Owner.ID == t.as.ID
	own.next = committed.Next
	own.labelled = sameID && committed.Next >= 0 && len(missingFrom(positions, committed.Positions)) == 0
	// Without a commit, the first epoch of a producer id shows that nobody has published under the id before.
	own.fenced = sameID || committed.Next < 0 && t.first == 0
	reading := &reading{takeover: t, own: own, pid: committed.Owner.ID}
	if err := reading.all(ctx, positions, committed.Positions); err != nil {
		return nil, err
	}
	crashpoint.Here(crashpoint.AfterReadBack)
	return own, nil
}

// position reads what the group has committed for the partition.
func (t *takeover) position(ctx context.Context) (broker.Commit, error) {
	committed, err := t.cluster.Group(t.cluster.Config.Group).Committed(ctx, t.input.Topic, []int{int(t.input.Partition)})
	if err != nil {
		return broker.Commit{}, fmt.Errorf("position: %w", err)
	}
	if committed[0].OfOtherTopic(t.input.TopicID) {
		return broker.Commit{Next: -1, Owner: t.as}, nil // nobody has published records of the present topic
	}
	return committed[0], nil
}
