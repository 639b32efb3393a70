package consumer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"echosieve/internal/crashpoint"
	"echosieve/pipeline"

	"github.com/segmentio/kafka-go"
)

// partition is one input partition in one generation. Three goroutines, joined by channels of capacity 1, serve
// it: fetch, prepare, publish. Everything passes them in order, so one number says what is done.
type partition struct {
	c        *Consumer
	delivery delivery
	topic    string
	id       int32
	name     string // id in decimal, for labels

	// marked is the next offset to commit: everything before it is acknowledged. -1: not known yet.
	marked        atomic.Int64
	committed     int64 // belongs to the commit loop
	highWatermark atomic.Int64
}

// chunk is a run of records that goes through the stages together.
type chunk struct {
	records []pipeline.Record // may be empty: only the offset moves
	next    int64             // offset to commit when the chunk is done
	permit  permit
	batch   *pipeline.Batch
}

// newPartition returns a partition whose group has committed offset, or nothing if that is negative.
func newPartition(c *Consumer, d delivery, topic string, id int32, offset int64) *partition {
	p := &partition{c: c, delivery: d, topic: topic, id: id, name: strconv.Itoa(int(id)), committed: max(offset, -1)}
	p.marked.Store(p.committed)
	return p
}

// fetch reads from offset (or from the log start, if negative) until ctx ends, and closes out. It never gives up.
func (p *partition) fetch(ctx context.Context, offset int64, out chan<- *chunk) {
	defer close(out)
	var retry backoff
	for ctx.Err() == nil {
		next, err := p.fetchOnce(ctx, offset, out)
		if errors.Is(err, kafka.OffsetOutOfRange) {
			next, err = p.reset(ctx, offset, out)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errLate) {
			continue // Kafka works: it was our turn to read
		}
		if err != nil {
			p.c.reporter.failed(opFetch, p.name, fmt.Errorf("consumer: fetch %s/%d at offset %d: %w", p.topic, p.id, offset, err))
			if retry.wait(ctx) != nil {
				return
			}
		} else {
			p.c.reporter.ok(opFetch, p.name)
			retry.reset()
		}
		offset = next
	}
}

// fetchOnce asks the broker once and hands on what it gets. It returns the offset to go on with, also with an
// error: records before a damaged batch are not lost.
func (p *partition) fetchOnce(ctx context.Context, offset int64, out chan<- *chunk) (int64, error) {
	if offset < 0 {
		first, _, err := p.c.cluster.offsets(ctx, p.topic, p.id)
		if err == nil {
			p.marked.Store(first)
		}
		return first, err
	}
	res, release, err := p.c.cluster.fetch(ctx, p.c.limiter, p.topic, p.id, offset)
	if err != nil {
		return offset, err
	}
	defer release()
	p.highWatermark.Store(res.highWatermark)
	if len(res.records) > 0 {
		crashpoint.Here(crashpoint.AfterFetch)
	}
	asked := offset
	s := newStream(res, offset, p.c.cfg.MaxMessageBytes)
	defer func() {
		s.close()
		p.c.metrics.skipped.WithLabelValues("aborted").Add(float64(s.aborted))
		p.c.metrics.skipped.WithLabelValues("control").Add(float64(s.control))
	}()
	for s.more() && err == nil {
		offset, err = p.pass(ctx, s, offset, out)
	}
	if err == nil && len(res.records) > 0 && s.offset == asked {
		err = errTruncated // brokers send the first batch whole
	}
	p.observeLag()
	return offset, err
}

// pass waits for room, takes one chunk from the stream, and hands it on. It returns the offset to go on with, also with an error.
func (p *partition) pass(ctx context.Context, s *stream, offset int64, out chan<- *chunk) (int64, error) {
	room, err := p.c.limiter.acquire(ctx, p.c.chunkRecords, p.c.chunkBytes+p.c.cfg.MaxMessageBytes)
	if err != nil {
		return offset, err
	}
	ch, size, bad := p.collect(s)
	ch.permit = p.c.limiter.settle(room, len(ch.records), size)
	if ch.next == offset {
		p.c.limiter.release(ch.permit)
		return offset, bad
	}
	p.c.metrics.fetchedRecords.Add(float64(len(ch.records)))
	p.c.metrics.fetchedBytes.Add(float64(size))
	if err := p.send(ctx, ch, out); err != nil {
		return offset, err
	}
	return ch.next, bad
}

// collect takes records from the stream until a chunk is full, the stream is at its end or fails. The last record may exceed
// chunkBytes, by MaxMessageBytes at most: longer ones come without their value.
func (p *partition) collect(s *stream) (ch *chunk, size int, err error) {
	ch = &chunk{}
	for len(ch.records) < p.c.chunkRecords && size < p.c.chunkBytes {
		rec, ok, bad := s.next()
		if bad != nil || !ok {
			err = bad
			break
		}
		rec.Topic, rec.Partition = p.topic, p.id
		ch.records = append(ch.records, rec)
		size += rec.Size()
	}
	ch.next = s.offset
	return ch, size, err
}

// send hands the chunk on, or gives back its permit.
func (p *partition) send(ctx context.Context, ch *chunk, out chan<- *chunk) error {
	select {
	case out <- ch:
		return nil
	case <-ctx.Done():
		p.c.limiter.release(ch.permit)
		return ctx.Err()
	}
}

// errReplaced stands until the generation ends.
var errReplaced = errors.New("the topic was recreated")

// reset finds a place to go on when the broker no longer has offset: the log start, whether records were deleted
// before they were read or the end of the log was lost. The counters and the warning are all that is left of it. The number of
// records deleted is known as a distance of offsets: transaction markers and records that were compacted away count as well.
func (p *partition) reset(ctx context.Context, offset int64, out chan<- *chunk) (int64, error) {
	first, last, err := p.c.cluster.offsets(ctx, p.topic, p.id)
	if err != nil {
		return offset, err
	}
	if first <= offset && offset <= last {
		return offset, kafka.OffsetOutOfRange // a leader change in between: ask again
	}
	if p.c.input.replaced(ctx) {
		return offset, errReplaced
	}
	if err := p.send(ctx, &chunk{next: first}, out); err != nil {
		return offset, err
	}
	lost := max(first-offset, 0)
	p.c.metrics.offsetResets.Inc()
	p.c.metrics.lostRecords.Add(float64(lost))
	p.c.log.Warn("the broker no longer has the wanted offset, going on at the start of the log: data was lost",
		"topic", p.topic, "partition", p.id, "offset", offset, "log_start", first, "log_end", last, "lost_records_at_most", lost)
	return first, nil
}

// prepare runs the first half of the handler on each chunk, until in is closed.
func (p *partition) prepare(ctx context.Context, in <-chan *chunk, out chan<- *chunk) {
	defer close(out)
	for ch := range in {
		if ctx.Err() == nil && len(ch.records) > 0 {
			ch.batch = p.c.handler.Prepare(ch.records)
			crashpoint.Here(crashpoint.AfterPrepare)
		}
		select {
		case out <- ch:
		case <-ctx.Done():
			p.c.limiter.release(ch.permit)
		}
	}
}

// publish decides, publishes and marks chunk by chunk, until in is closed. After the first failure, and when ctx
// ends, the rest is dropped unmarked, to be delivered again.
func (p *partition) publish(ctx context.Context, in <-chan *chunk) {
	failed := false
	for ch := range in {
		if !failed && ctx.Err() == nil {
			if err := p.finish(ctx, ch); err != nil {
				failed = true
				if ctx.Err() == nil {
					p.c.fail(fmt.Errorf("consumer: %s/%d up to offset %d: %w", p.topic, p.id, ch.next, err))
				}
			}
		}
		p.c.limiter.release(ch.permit)
	}
}

func (p *partition) finish(ctx context.Context, ch *chunk) error {
	if ch.batch != nil {
		outputs, err := p.c.handler.Decide(ctx, ch.batch)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.BeforeWrite)
		start := time.Now()
		if err := p.delivery.deliver(ctx, p.id, outputs); err != nil {
			return err
		}
		crashpoint.Here(crashpoint.AfterWrite)
		p.c.handler.Published(outputs, time.Since(start))
	}
	p.marked.Store(ch.next)
	crashpoint.Here(crashpoint.AfterMark)
	p.observeLag()
	return nil
}

func (p *partition) observeLag() {
	if next := p.marked.Load(); next >= 0 {
		p.c.metrics.lag.WithLabelValues(p.name).Set(float64(max(p.highWatermark.Load()-next, 0)))
	}
}
