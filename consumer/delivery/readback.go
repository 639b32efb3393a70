package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
)

// reading reads the outputs of earlier owners back. It sets what own knows of outputs.
type reading struct {
	*takeover
	own      *ownership
	pid      int64     // producer id of the commit
	inputEnd int64     // of the input partition: all records that anybody can have published lie before it
	deadline time.Time // for the markers
	asked    bool      // for the end of the input, since the latest response came
}

// markerPatience is how long a marker may take. A single broker that was killed can forget a marker although it
// has acknowledged the end of the transaction (Kafka 4.3.1); the next fence works.
const markerPatience = 5 * time.Second

// all reads the output partitions from their committed positions to our own marker: first those of positions,
// then those that only the commit names.
func (t *reading) all(ctx context.Context, positions, committed []broker.Position) error {
	former, err := t.formerPositions(ctx, missingFrom(committed, positions))
	if err != nil {
		return err
	}
	t.deadline = time.Now().Add(markerPatience)
	for _, p := range positions {
		if p.Offset, err = t.readFrom(ctx, p, committed); err != nil {
			return err
		}
		t.own.before = append(t.own.before, p)
		if p.Offset, err = t.readPosition(ctx, t.cluster, p.TopicPartition, p.Offset); err != nil {
			return fmt.Errorf("read back %s/%d: %w", p.Topic, p.Partition, err)
		}
		t.own.ends = append(t.own.ends, p)
	}
	for _, p := range former {
		t.own.before = append(t.own.before, p)
		if err := t.readFormer(ctx, p); err != nil {
			return fmt.Errorf("read back %s/%d: %w", p.Topic, p.Partition, err)
		}
	}
	return nil
}

// formerPositions fences those of the positions that still exist, and returns them. The former owner wrote there: the
// number of partitions has changed since, or an output topic has got another name. Where this user may no longer write,
// own is not fenced.
func (t *reading) formerPositions(ctx context.Context, positions []broker.Position) (left []broker.Position,
	err error,
) {
	for _, p := range positions {
		now, err := t.cluster.Topic(ctx, p.Topic)
		if err == nil && now.ID == p.TopicID && int(p.Partition) < len(now.Partitions) {
			err = t.fence(ctx, []broker.Position{p})
			if err == nil {
				left = append(left, p)
			}
		}
		switch {
		case errors.Is(err, kafka.TopicAuthorizationFailed):
			t.own.fenced = false
		case err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition):
			return nil, fmt.Errorf("%s/%d, where an earlier owner published: %w", p.Topic, p.Partition, err)
		}
	}
	return left, nil
}

// readFrom returns the offset from which a position is read back: its position in the commit, or its present offset if
// the commit names none. A topic that was recreated since the commit is read from its start: an owner who did not
// notice that may have published there.
func (t *reading) readFrom(ctx context.Context, p broker.Position, committed []broker.Position) (int64, error) {
	at := slices.IndexFunc(committed, func(c broker.Position) bool { return c.TopicPartition == p.TopicPartition })
	switch {
	case at < 0:
		return p.Offset, nil
	case committed[at].TopicID == p.TopicID:
		return committed[at].Offset, nil
	}
	first, _, err := t.cluster.Partition(p.Topic, p.Partition).Offsets(ctx)
	if err != nil {
		return 0, fmt.Errorf("log start of %s/%d: %w", p.Topic, p.Partition, err)
	}
	return first, nil
}

// errNoMarker says that a marker did not come within markerPatience.
var errNoMarker = errors.New("the marker of the transaction did not reach the output partition")

// readPosition reads one partition from the offset to our own marker, and returns the marker's offset. It adds the
// records at or after own.next to own.acknowledged. If the coordinator has given the transactional id another producer
// id since the commit, batches of both are ours.
func (t *reading) readPosition(ctx context.Context, c *broker.Cluster, at wire.TopicPartition, offset int64) (
	int64, error,
) {
	p := c.Partition(at.Topic, at.Partition)
	p.Limiter = t.limiter
	var retry stopping.Backoff
	for {
		next, marker, err := t.readTail(ctx, p, offset)
		switch {
		case marker:
			return next - 1, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, kafka.OffsetOutOfRange):
			// Retention has removed what stood there; or the log was cut off, and offsets are given out again.
			if next, _, err = p.Offsets(ctx); err != nil {
				next = offset
			}
		}
		if next > offset {
			retry.Reset()
		} else if time.Now().After(t.deadline) {
			if err == nil {
				err = t.own.foreign.noMarker()
			}
			return 0, err
		} else if err != nil && retry.Wait(ctx) != nil {
			return 0, err
		}
		offset = next
	}
}

// readFormer is readPosition for a topic that may no longer be among the configured ones. kafka-go's transport finds
// the leaders of those only.
func (t *reading) readFormer(ctx context.Context, p broker.Position) error {
	c, err := broker.New(t.cluster.Config, p.Topic)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = t.readPosition(ctx, c, p.TopicPartition, p.Offset)
	return err
}

// readTail fetches once. It returns the offset to go on with, and whether the batch before that offset is our own
// marker.
func (t *reading) readTail(ctx context.Context, p *broker.Partition, offset int64) (next int64, marker bool,
	err error,
) {
	res, release, err := p.Tail(ctx, offset)
	if err != nil {
		return offset, false, err
	}
	defer release()
	t.asked = false
	tail := wire.NewTail(res, offset, t.cluster.Config.MaxFetchBytes())
	for {
		batch, err := tail.Next()
		if err != nil || batch == nil {
			return tail.Offset(), false, err
		}
		by := batch.Producer
		at := article.Coordinates{Topic: p.Topic, Partition: p.Partition, Offset: tail.Offset() - 1}
		if by.ID == t.as.ID && by.Epoch > t.as.Epoch && t.own.foreign.above == "" {
			t.own.foreign.above = at.String()
		}
		switch {
		case batch.Marker():
			if by == t.as {
				return tail.Offset(), true, nil
			}
		case by.ID == t.as.ID || by.ID == t.pid && t.pid != wire.NoProducerID:
			err := batch.Records(t.limiter.WaitDecoder(ctx), func(r *record.Record) error {
				at.Offset = r.Offset
				return t.collect(ctx, at, r)
			})
			if err != nil {
				return offset, false, err
			}
		}
	}
}

// collect adds the input record that the output names, if it lies ahead. at is the place of the output. A record that
// we cannot have written is skipped and counted.
func (t *reading) collect(ctx context.Context, at article.Coordinates, r *record.Record) error {
	if t.cluster.Config.Topics.SnapshotsFor > 0 {
		return nil // snapshots are published again
	}
	input, err := pipeline.InputOf(r.Headers)
	switch {
	case err != nil:
		t.own.foreign.add(at, err.Error())
		return nil
	case input.Topic != t.input.Topic || input.Partition != t.input.Partition:
		t.own.foreign.add(at, fmt.Sprintf("it names %s, but its producer writes for %s", input, t.input))
		return nil
	case t.own.next < 0 || input.Offset < t.own.next:
		return nil
	case input.Offset >= t.inputEnd && !t.asked:
		// Who published what the response holds had read the record before: then the input ends behind it.
		if t.inputEnd, err = t.askInputEnd(ctx); err != nil {
			return fmt.Errorf("end of %s: %w", t.input, err)
		}
		t.asked = true
	}
	if input.Offset >= t.inputEnd {
		t.own.foreign.add(at, fmt.Sprintf("it names %s, but the input ends at offset %d", input, t.inputEnd))
		return nil
	}
	t.own.acknowledged.add(input.Offset)
	return nil
}

// missingFrom returns those of the positions that name a partition which is not among known.
func missingFrom(positions, known []broker.Position) []broker.Position {
	var missing []broker.Position
	for _, p := range positions {
		if !slices.ContainsFunc(known, func(k broker.Position) bool { return k.TopicPartition == p.TopicPartition }) {
			missing = append(missing, p)
		}
	}
	return missing
}
