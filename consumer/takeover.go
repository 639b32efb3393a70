package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
)

// A take-over makes this process the only writer for one input partition, and finds out what its former owners have published. It
// runs at the start of a group generation, before the partition is fetched, and again when a leader has lost the sequence numbers of this
// writer. Each input partition has a transactional id of its own, so whoever takes over fences the former owner, whatever its name.
//
//  1. init: the coordinator of the id gives out the id's producer id with the next epoch.
//  2. fence: an empty transaction over the output partitions. Its markers carry the new epoch into their logs. Once the leader of an
//     output partition has appended the marker, it refuses every batch of an older epoch.
//  3. position: the group's committed offset, and the positions that were committed with it. In no output partition does an output of a
//     record at or after the offset stand before its position.
//  4. read back: each output partition, from its position to our own marker. This gives the records at or after the committed offset that
//     are published already.
//  5. run: every record from the committed offset on is decided. Those that are published already are not published again.
//
// Which interleavings each step closes, with A the former owner and B the process that takes over:
//
//   - A publishes, and dies before it commits. B finds the output in step 4.
//   - A is frozen, B takes over, A wakes and goes on. Its batches carry an older epoch: the leader refuses them after the marker.
//   - A broker holds A's last request during the take-over. If it appends the batch before the marker, B finds it in step 4, because B
//     reads to its own marker and not to the end that it sees. If it comes to the batch after the marker, it refuses the batch.
//   - A reads back, and B takes over meanwhile. A's own marker has an older epoch than B's. A's first batch is refused.
//   - B commits a new offset while records that step 4 has found still lie ahead, and C takes over from B. The commit holds the old
//     positions until the mark has passed all records that were found (see ownership.places): so C finds them, too.
//   - A commits after B has read the position. The group's coordinator refuses it, because B is in a later group generation.
//   - Redis has lost a verdict, and B decides a record differently from A. B looks for the record in all output partitions, not only in
//     that of the new verdict.
//
// No error is answered with a higher epoch that this process has chosen itself: leaders accept any higher epoch, and so the fence of the
// next owner would be overtaken.
type takeover struct {
	cluster   *cluster
	limiter   *limiter
	group     string
	input     string // topic
	inputID   wire.TopicID
	partition int32
	id        string // transactional id

	node int32 // of the id's coordinator; -1: not known
	as   wire.Identity
}

const (
	// transactionTimeout is how long the empty transaction of a fence may stay open. If this process dies between opening and ending it,
	// the next owner waits no longer than that.
	transactionTimeout = 10 * time.Second
	// markerPatience is how long a marker may take. A single broker that was killed can forget a marker although it has acknowledged the
	// end of the transaction (Kafka 4.3.1); the next fence works.
	markerPatience = 5 * time.Second
	// takeOverPatience is how long a coordinator may be busy before the take-over counts as failing. It is twice transactionTimeout.
	takeOverPatience = 2 * transactionTimeout
	// busyPause is the first pause before a request to a busy coordinator is repeated. Coordinators end a transaction in milliseconds.
	busyPause = 5 * time.Millisecond
	// fenceRenewal is the time between two renewals of a fence. Brokers forget a silent producer after a day, and a transactional id after
	// seven days, by default.
	fenceRenewal = 6 * time.Hour
	// parallelTakeOvers is how many partitions are taken over at a time. Each takes some round trips to coordinators and leaders.
	parallelTakeOvers = 16
)

// place is a position in one partition of an output topic.
type place struct {
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
	// published are the records from next on whose outputs stand in the output topics.
	published offsetSet
	// before are the positions from which the output partitions were read back. As long as records in published lie ahead, they are
	// committed again.
	before []place
	// ends are the output partitions of this input partition, each with a position of which every output before it belongs to a record
	// before the mark, or is in published.
	ends      []place
	committed bool // the group had committed an offset
	// noted says that next was committed by an owner with the same producer id, with a position in every output partition.
	noted bool
}

// placesInterval is the time between two refreshes of the positions of a partition: see partition.refreshPlaces. In that time the other
// writers of an output partition write no more than a take-over can read in a moment.
const placesInterval = 30 * time.Second

// timers tick when positions are to be refreshed and when the fence is to be renewed. Without exactly once they never tick.
func (o *ownership) timers(renewal time.Duration) (refresh, renew <-chan time.Time, stop func()) {
	if o == nil {
		return nil, nil, func() {}
	}
	places, fence := time.NewTicker(placesInterval), time.NewTicker(renewal)
	return places.C, fence.C, func() {
		places.Stop()
		fence.Stop()
	}
}

// renew writes markers of the same epoch once more. So brokers do not forget the transactional id, the leaders do not forget the epoch,
// and retention does not remove the last marker. The error is errTakenOver or errStandingLost.
func (o *ownership) renew(ctx context.Context) error {
	if err := o.by.fence(ctx, o.ends); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", fencedIdentity{o.as}.refused(err), err)
	}
	return nil
}

// places returns the positions to commit with the mark next, while no output is on its way.
func (o *ownership) places(next int64, ws *writers) []place {
	if o.published.len > 0 && next <= o.published.highest {
		return o.before
	}
	places := slices.Clone(o.ends)
	for i := range places {
		for _, w := range ws {
			if w != nil && w.topic == places[i].Topic && w.end > places[i].offset {
				places[i].offset = w.end
			}
		}
	}
	return places
}

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
	// errStandingLost says that a leader has lost what it knew of this process as a producer, or that the output topic has other
	// partitions now. The take-over begins again: whether the last batch was appended is found by reading.
	errStandingLost = errors.New("the output partition no longer knows this producer")
)

// fencedIdentity is the identity that a take-over has established. It is never changed: a new one comes from a new take-over.
type fencedIdentity struct{ as wire.Identity }

func (f fencedIdentity) current(context.Context) (wire.Identity, error) { return f.as, nil }

func (fencedIdentity) renew() error { return errStandingLost }

func (fencedIdentity) refused(err error) error {
	if react(err) == leave {
		return errTakenOver
	}
	return errStandingLost
}

// errNoMarker says that a marker did not come within markerPatience.
var errNoMarker = errors.New("the marker of the transaction did not reach the output partition")

// takeOver takes a partition over. It repeats attempts until one succeeds, and commits the position if the commit that was there does not
// say where to read back: the first output is published only after that. The error is ctx's or errTakenOver.
func (g *groupGeneration) takeOver(ctx context.Context, partition int32) (*ownership, error) {
	c := g.c
	if err := c.takeovers.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.takeovers.Release(1)
	t := &takeover{
		cluster: c.cluster, limiter: c.limiter, group: c.cfg.Group, input: c.input.name, inputID: g.topicID, partition: partition,
		id: transactionalID(c.cfg.transactionalIDPrefix(), c.input.name, partition),
	}
	subject, began := strconv.Itoa(int(partition)), time.Now()
	var retry backoff
	for {
		own, err := g.takeOverOnce(ctx, t)
		switch {
		case err == nil:
			c.reporter.ok(opTakeOver, subject)
			c.metrics.takeoverSeconds.Observe(time.Since(began).Seconds())
			outcome := outcomeFenced
			if !own.noted && own.committed {
				outcome = outcomeUnfenced
			}
			c.metrics.takeovers.WithLabelValues(outcome).Inc()
			return own, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case react(err) == leave:
			return nil, errTakenOver
		}
		c.reporter.failed(opTakeOver, subject, fmt.Errorf("consumer: take over %s/%d: %w", t.input, partition, err))
		if retry.wait(ctx) != nil {
			return nil, ctx.Err()
		}
	}
}

func (g *groupGeneration) takeOverOnce(ctx context.Context, t *takeover) (*ownership, error) {
	places, err := g.c.publisher.places(ctx, t.partition)
	if err != nil {
		return nil, fmt.Errorf("output partitions: %w", err)
	}
	own, err := t.once(ctx, places)
	if err != nil || own.noted {
		return own, err
	}
	own.committed = own.next >= 0
	if !own.committed {
		if own.next, _, err = g.c.cluster.offsets(ctx, t.input, t.partition); err != nil {
			return nil, fmt.Errorf("log start: %w", err)
		}
	}
	p := newPartition(g.c, t.partition, own.next, own)
	return own, g.commitMarks(ctx, map[*partition]*mark{p: p.mark.Load()})
}

// once makes one attempt. places are the output partitions of this input partition as they are now.
func (t *takeover) once(ctx context.Context, places []place) (*ownership, error) {
	t.node = -1
	err := t.ask(ctx, func(ctx context.Context) (err error) {
		t.as, err = t.cluster.wire.InitProducer(ctx, t.node, t.id, transactionTimeout)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("epoch of transactional id %s: %w", t.id, err)
	}
	if err := t.fence(ctx, places); err != nil {
		return nil, err
	}
	committed, pid, err := t.position(ctx)
	if err != nil {
		return nil, err
	}
	own := &ownership{by: t, as: t.as, next: committed.next, published: offsetSet{from: committed.next}}
	own.noted = pid == t.as.ID && len(missingFrom(places, committed.places)) == 0
	// If the number of partitions has changed, or an output topic was renamed, the former owner wrote to other partitions.
	old := t.stillThere(ctx, missingFrom(committed.places, places))
	if len(old) > 0 {
		if err := t.fence(ctx, slices.Concat(places, old)); err != nil {
			return nil, err
		}
	}
	deadline := time.Now().Add(markerPatience)
	for i, p := range slices.Concat(places, old) {
		at := slices.IndexFunc(committed.places, func(c place) bool {
			return c.TopicPartition == p.TopicPartition && c.topicID == p.topicID
		})
		if at >= 0 {
			p.offset = committed.places[at].offset
		}
		own.before = append(own.before, p)
		if p.offset, err = t.readPlace(ctx, own, p.TopicPartition, p.offset, pid, deadline); err != nil {
			return nil, fmt.Errorf("read back %s/%d: %w", p.Topic, p.Partition, err)
		}
		if i < len(places) {
			own.ends = append(own.ends, p)
		}
	}
	return own, nil
}

// ask sends a request to the coordinator of the id until there is an answer that is not to be asked for again.
func (t *takeover) ask(ctx context.Context, request func(context.Context) error) error {
	retry, began := backoff{first: busyPause}, time.Now()
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
		if time.Since(began) > takeOverPatience || retry.wait(ctx) != nil {
			return err
		}
	}
}

// found makes sure that the coordinator is known.
func (t *takeover) found(ctx context.Context) (err error) {
	if t.node < 0 {
		t.node, err = t.cluster.wire.Coordinator(ctx, t.id)
	}
	return err
}

// fence sends the markers of our epoch into the places.
func (t *takeover) fence(ctx context.Context, places []place) error {
	partitions := make([]wire.TopicPartition, len(places))
	for i, p := range places {
		partitions[i] = p.TopicPartition
	}
	err := t.ask(ctx, func(ctx context.Context) error {
		return t.cluster.wire.AddPartitions(ctx, t.node, t.id, t.as, partitions)
	})
	if err != nil {
		return fmt.Errorf("fence with transactional id %s: %w", t.id, err)
	}
	err = t.ask(ctx, func(ctx context.Context) error { return t.cluster.wire.EndTransaction(ctx, t.node, t.id, t.as) })
	if err != nil {
		return fmt.Errorf("end of the fence with transactional id %s: %w", t.id, err)
	}
	return nil
}

// position reads the mark that the group has committed for the partition, and the producer id that it was committed with:
// wire.NoProducerID if it was committed without one. The mark's next is negative if the group has committed none.
func (t *takeover) position(ctx context.Context) (mark, int64, error) {
	committed, err := t.cluster.committed(ctx, t.group, t.input, []int{int(t.partition)})
	if err != nil {
		return mark{}, 0, fmt.Errorf("position: %w", err)
	}
	at := committed[0]
	if at.CommittedOffset < 0 || ofOtherTopic(at.Metadata, t.inputID) {
		return mark{next: kafka.FirstOffset}, wire.NoProducerID, nil
	}
	pid, places := parseOwner(at.Metadata)
	return mark{at.CommittedOffset, places}, pid, nil
}

// stillThere returns those of the places whose topic still exists, with the same id and the partition.
func (t *takeover) stillThere(ctx context.Context, places []place) []place {
	return slices.DeleteFunc(places, func(p place) bool {
		now, err := t.cluster.topic(ctx, p.Topic)
		return err != nil || now.ID != p.topicID || int(p.Partition) >= len(now.Partitions)
	})
}

// missingFrom returns those of the places that name a partition which is not among known.
func missingFrom(places, known []place) []place {
	var missing []place
	for _, p := range places {
		if !slices.ContainsFunc(known, func(k place) bool { return k.TopicPartition == p.TopicPartition }) {
			missing = append(missing, p)
		}
	}
	return missing
}

// readPlace reads one partition from the offset to our own marker, and returns the marker's offset. It adds the records at or after
// own.next to own.published. pid is the producer id of the commit: if the coordinator has given the transactional id another producer id
// since, batches of both are ours.
func (t *takeover) readPlace(ctx context.Context, own *ownership, p wire.TopicPartition, offset, pid int64, deadline time.Time) (int64, error) {
	var retry backoff
	for {
		next, marker, err := t.readTail(ctx, own, p, offset, pid)
		switch {
		case marker:
			return next - 1, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, kafka.OffsetOutOfRange):
			// Retention has removed what stood there; or the log was cut off, and offsets are given out again.
			if next, _, err = t.cluster.offsets(ctx, p.Topic, p.Partition); err != nil {
				next = offset
			}
		}
		if next > offset {
			retry.reset()
		} else if time.Now().After(deadline) {
			if err == nil {
				err = errNoMarker
			}
			return 0, err
		} else if err != nil && retry.wait(ctx) != nil {
			return 0, err
		}
		offset = next
	}
}

// readTail fetches once. It returns the offset to go on with, and whether the batch before that offset is our own marker.
func (t *takeover) readTail(ctx context.Context, own *ownership, p wire.TopicPartition, offset, pid int64) (next int64, marker bool, err error) {
	res, release, err := t.cluster.fetchTail(ctx, t.limiter, p.Topic, p.Partition, offset)
	if err != nil {
		return offset, false, err
	}
	defer release()
	tail := wire.NewTail(res, offset, t.cluster.cfg.maxFetchBytes())
	for {
		batch, err := tail.Next()
		if err != nil || batch == nil {
			return tail.Offset(), false, err
		}
		by := batch.Producer()
		switch {
		case batch.Marker():
			if by == t.as {
				return tail.Offset(), true, nil
			}
		case by.ID == t.as.ID || by.ID == pid && pid != wire.NoProducerID:
			if err := batch.Records(t.limiter.waitDecoder(ctx), func(r *record.Record) error { return t.collect(own, r) }); err != nil {
				return offset, false, err
			}
		}
	}
}

// collect adds the input record that the output names, if it lies ahead.
func (t *takeover) collect(own *ownership, r *record.Record) error {
	source, err := pipeline.SourceOf(r.Headers)
	if err != nil {
		return err
	}
	if own.next >= 0 && source.Topic == t.input && source.Partition == t.partition && source.Offset >= own.next {
		own.published.add(source.Offset)
	}
	return nil
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

// transactionalID names the writer for an input partition.
func transactionalID(prefix, topic string, partition int32) string {
	return prefix + "/" + topic + "/" + strconv.Itoa(int(partition))
}
