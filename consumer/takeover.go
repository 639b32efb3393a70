package consumer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/crashpoint"

	"github.com/segmentio/kafka-go"
)

// transactionalID names the writer for an input partition.
func transactionalID(prefix, topic string, partition int32) string {
	return prefix + "/" + topic + "/" + strconv.Itoa(int(partition))
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
//     The commit holds the old positions until the mark has passed all records that were found (see
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
	cluster   *broker.Cluster
	limiter   *broker.Limiter
	group     string
	input     string // topic
	inputID   wire.TopicID
	partition int32
	id        string        // transactional id
	memory    time.Duration // how long leaders remember a producer
	inputEnd  func(context.Context) (int64, error)

	node  int32 // of the id's coordinator; -1: not known
	as    wire.Identity
	first int16 // the first epoch that was given out for this take-over; valid if begun
	begun bool
}

const (
	// transactionTimeout is how long the empty transaction of a fence may stay open. If this process dies
	// between opening and ending it, the next owner waits no longer than that.
	transactionTimeout = 10 * time.Second
	// markerPatience is how long a marker may take. A single broker that was killed can forget a marker
	// although it has acknowledged the end of the transaction (Kafka 4.3.1); the next fence works.
	markerPatience = 5 * time.Second
	// takeOverPatience is how long a coordinator may be busy before the take-over counts as failing. It is
	// twice transactionTimeout.
	takeOverPatience = 2 * transactionTimeout
	// busyPause is the first pause before a request to a busy coordinator is repeated. Coordinators end a
	// transaction in milliseconds.
	busyPause = 5 * time.Millisecond
	// parallelTakeOvers is how many partitions are taken over at a time. Each takes some round trips to
	// coordinators and leaders.
	parallelTakeOvers = 16
)

// reaction is what a take-over does after an error.
type reaction int

const (
	startOver reaction = iota // go back to init: it is not known what became of the request, or the identity is void
	sendAgain                 // send the request again, after a pause
	lookUp                    // look the coordinator up, then send the request again
	leave                     // another process has taken over: end the group generation
	forbidden                 // brokers do not allow it, and trying again does not help
)

// reactions to the codes of brokers, in all steps of a take-over. Other codes and lost connections start over.
var reactions = map[kafka.Error]reaction{
	kafka.GroupLoadInProgress:          sendAgain, // 14, the coordinator loads its state
	kafka.ConcurrentTransactions:       sendAgain, // 51, a transaction of the id is being ended
	kafka.GroupCoordinatorNotAvailable: lookUp,    // 15
	kafka.NotCoordinatorForGroup:       lookUp,    // 16
	kafka.BrokerNotAvailable:           lookUp,    // 8
	// The epoch is too old. Asking for a new one would end the transaction of the process that has taken over.
	kafka.InvalidProducerEpoch: leave, // 47
	kafka.ProducerFenced:       leave, // 90
	// The coordinator forgot the id while it was idle.
	kafka.InvalidProducerIDMapping: startOver, // 49
	kafka.InvalidTransactionState:  startOver, // 48

	kafka.TransactionalIDAuthorizationFailed: forbidden, // 53
	kafka.TopicAuthorizationFailed:           forbidden, // 29
	kafka.InvalidTransactionTimeout:          forbidden, // 50
	kafka.UnsupportedVersion:                 forbidden, // 35
}

func react(err error) reaction {
	var code kafka.Error
	switch {
	case errors.Is(err, wire.ErrNoTransactions):
		return forbidden
	case errors.As(err, &code):
		return reactions[code]
	default:
		return startOver
	}
}

var (
	// errTakenOver says that another process has taken the partition over. The group generation ends for this member.
	errTakenOver = errors.New("another process has taken the partition over")
	// errStandingLost says that a leader has lost what it knew of this process as a producer, or that the
	// output topic has other partitions now. The take-over begins again: whether the last batch was appended
	// is found by reading.
	errStandingLost = errors.New("the output partition no longer knows this producer")
	// errOutputsChanged says why an owner has lost its standing before it noticed.
	errOutputsChanged = errors.New("an output topic was recreated, or has more partitions")
)

// takeOver takes a partition over. It repeats attempts until one succeeds, and commits the position if the
// commit that was there does not say where to read back: the first output is published only after that. The
// error is ctx's or errTakenOver.
func (g *groupGeneration) takeOver(ctx context.Context, partition int32) (*ownership, error) {
	c := g.c
	if err := c.takeovers.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.takeovers.Release(1)
	t := &takeover{
		cluster: c.cluster, limiter: c.limiter, group: c.cfg.Group, input: c.input.name, inputID: g.topicID,
		partition: partition,
		id:        transactionalID(transactionalIDPrefix(&c.cfg), c.input.name, partition),
		memory:    min(c.fenceMemory, producerForgotten), inputEnd: endOf(c.cluster, c.input.name, partition),
	}
	subject, began := strconv.Itoa(int(partition)), time.Now()
	var retry broker.Backoff
	for {
		own, err := g.tryTakeOver(ctx, t)
		switch {
		case err == nil:
			c.reporter.OK(broker.OpTakeOver, subject)
			c.metrics.TakeoverSeconds.Observe(time.Since(began).Seconds())
			outcome := broker.OutcomeFenced
			if !own.fenced {
				outcome = broker.OutcomeUnfenced
			}
			c.metrics.Takeovers.WithLabelValues(outcome).Inc()
			if n := own.foreign.count; n > 0 {
				c.metrics.Skipped.WithLabelValues("foreign").Add(float64(n))
				c.log.Warn("skipped records in output topics that are under this service's producer id and none "+
					"of its outputs",
					"topic", t.input, "partition", partition, "count", n, "first", own.foreign.named)
			}
			return own, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case react(err) == leave:
			return nil, errTakenOver
		}
		c.reporter.Failed(broker.OpTakeOver, subject, fmt.Errorf("consumer: take over %s/%d: %w", t.input, partition, err))
		if retry.Wait(ctx) != nil {
			return nil, ctx.Err()
		}
	}
}

// tryTakeOver makes one attempt, and commits the position if need be.
func (g *groupGeneration) tryTakeOver(ctx context.Context, t *takeover) (*ownership, error) {
	began := time.Now()
	positions, err := g.c.sender.positions(ctx, t.partition)
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
		if own.next, _, err = g.c.cluster.Offsets(ctx, t.input, t.partition); err != nil {
			return nil, fmt.Errorf("log start: %w", err)
		}
	}
	return own, g.store(ctx, broker.Commit{Partition: t.partition, Next: own.next, Owner: own.as,
		Positions: own.positions(own.next, &writers{})})
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
	own := &ownership{by: t, as: t.as, fencedAt: time.Now()}
	committed, err := t.position(ctx)
	if err != nil {
		return nil, err
	}
	sameID := committed.Owner.ID == t.as.ID
	own.next = committed.Next
	own.labelled = sameID && committed.Next >= 0 && len(missingFrom(positions, committed.Positions)) == 0
	// Without a commit, the first epoch of a producer id shows that nobody has published under the id before.
	own.fenced = sameID || committed.Next < 0 && t.first == 0
	if err := t.readBack(ctx, own, positions, committed.Positions, committed.Owner.ID); err != nil {
		return nil, err
	}
	crashpoint.Here(crashpoint.AfterReadBack)
	return own, nil
}

// init gets a new epoch.
func (t *takeover) init(ctx context.Context) error {
	t.node = -1
	err := t.ask(ctx, func(ctx context.Context) (err error) {
		t.as, err = t.cluster.Wire.InitProducer(ctx, t.node, t.id, transactionTimeout)
		return err
	})
	if err != nil {
		return fmt.Errorf("epoch of transactional id %s: %w", t.id, err)
	}
	if !t.begun {
		t.begun, t.first = true, t.as.Epoch
	}
	return nil
}

// fence sends the markers of our epoch into the positions.
func (t *takeover) fence(ctx context.Context, positions []broker.Position) error {
	partitions := make([]wire.TopicPartition, len(positions))
	for i, p := range positions {
		partitions[i] = p.TopicPartition
	}
	err := t.ask(ctx, func(ctx context.Context) error {
		return t.cluster.Wire.AddPartitions(ctx, t.node, t.id, t.as, partitions)
	})
	if err != nil {
		return fmt.Errorf("fence with transactional id %s: %w", t.id, err)
	}
	crashpoint.Here(crashpoint.AfterAddPartitions)
	err = t.ask(ctx, func(ctx context.Context) error { return t.cluster.Wire.EndTransaction(ctx, t.node, t.id, t.as) })
	if err != nil {
		return fmt.Errorf("end of the fence with transactional id %s: %w", t.id, err)
	}
	crashpoint.Here(crashpoint.AfterEndTransaction)
	return nil
}

// position reads what the group has committed for the partition.
func (t *takeover) position(ctx context.Context) (broker.Commit, error) {
	committed, err := t.cluster.Committed(ctx, t.group, t.input, []int{int(t.partition)})
	if err != nil {
		return broker.Commit{}, fmt.Errorf("position: %w", err)
	}
	if committed[0].OfOtherTopic(t.inputID) {
		return broker.Commit{Next: -1, Owner: t.as}, nil // nobody has published records of the present topic
	}
	return committed[0], nil
}

// ask sends a request to the coordinator of the id until there is an answer that is not to be asked for again.
func (t *takeover) ask(ctx context.Context, request func(context.Context) error) error {
	retry, began := broker.Backoff{First: busyPause}, time.Now()
	for {
		err := t.found(ctx)
		if err == nil {
			err = request(ctx)
		}
		switch react(err) {
		case lookUp:
			t.node = -1
		case sendAgain:
		default:
			return err
		}
		if time.Since(began) > takeOverPatience || retry.Wait(ctx) != nil {
			return err
		}
	}
}

// found makes sure that the coordinator is known.
func (t *takeover) found(ctx context.Context) (err error) {
	if t.node < 0 {
		t.node, err = t.cluster.Wire.Coordinator(ctx, t.id)
	}
	return err
}
