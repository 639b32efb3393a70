package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/consumer/internal/label"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/crashpoint"
	"echosieve/internal/base/tracing"
	"echosieve/pipeline"
	"echosieve/pipeline/record"

	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/trace"
)

// partition is one input partition in one group generation. Three goroutines serve it: fetch, prepare and finish. Channels of
// capacity 1 connect them, so several chunks are in flight. All chunks pass in order, so one offset says how far the work is done.
type partition struct {
	c     *Consumer
	topic string
	id    int32
	name  string // id in decimal, for labels

	own     *ownership // nil with kafka.delivery: at_least_once
	writers *writers

	// mark is how far the partition is done; its next is -1 as long as that is not known.
	mark          atomic.Pointer[mark]
	stop          func(error)  // ends run with an error; set by run
	committed     *mark        // nil before the first commit; used by the commit loop only
	highWatermark atomic.Int64 // the offset after the last record that all in-sync replicas have
}

// chunk is a run of records that goes through the stages together.
type chunk struct {
	records []record.Record // may be empty: then only the offset moves
	next    int64           // offset to commit when the chunk is done
	permit  permit
	batch   *pipeline.Batch // nil before prepare, and if there are no records
	span    trace.Span      // nil if the chunk is not traced
}

// mark is an offset and the positions that belong to it. Both are committed together.
type mark struct {
	next   int64   // every output of the records before it is acknowledged
	places []place // in no output partition does an output of a record at or after next stand before its position
}

// newPartition returns a partition of the input topic. offset is the offset that the group has committed in it, negative if there
// is none. own is what a take-over has established, or nil.
func newPartition(c *Consumer, id int32, offset int64, own *ownership) *partition {
	p := &partition{c: c, topic: c.input.name, id: id, name: strconv.Itoa(int(id)), own: own}
	if own == nil {
		p.writers = c.publisher.ownWriters(id)
	} else {
		p.writers = c.publisher.fencedWriters(id, own)
	}
	p.setMark(max(offset, -1))
	p.committed = p.mark.Load()
	return p
}

// setMark is called only while no output of the partition is on its way.
func (p *partition) setMark(next int64) {
	m := &mark{next: next}
	if p.own != nil {
		m.places = p.own.places(next, p.writers)
	}
	p.mark.Store(m)
}

// ownerWords returns the words of the label that belong to the mark.
func (p *partition) ownerWords(m *mark) []label.Word {
	if p.own == nil {
		return nil
	}
	return ownerWords(p.own.as, m.places)
}

// run fetches, prepares and finishes the partition's records until ctx ends, and finishes what is under way until work ends. It returns
// errStandingLost or errTakenOver if it had to stop before, otherwise nil.
func (p *partition) run(ctx, work context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, abort := context.WithCancel(work)
	defer abort()
	p.stop = func(err error) { stop(err); abort() }
	var stages sync.WaitGroup
	fetched, prepared := make(chan *chunk, 1), make(chan *chunk, 1)
	offset := p.mark.Load().next
	stages.Go(func() { p.fetch(ctx, offset, fetched) })
	stages.Go(func() { p.prepare(work, fetched, prepared) })
	stages.Go(func() { p.finish(work, prepared) })
	stages.Wait()
	if err := context.Cause(ctx); errors.Is(err, errStandingLost) || errors.Is(err, errTakenOver) {
		return err
	}
	return nil
}

// fetch fetches records from offset on, or from the log start if offset is negative, until ctx ends. Then it closes out.
// After an error it waits and tries again.
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
		if errors.Is(err, wire.ErrLate) {
			continue // the broker works: its response waited below our memory limit for too long
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

// fetchOnce sends one fetch and hands on the records, chunk by chunk. It returns the offset to go on with, also with an error: the
// records before a damaged batch have been handed on.
func (p *partition) fetchOnce(ctx context.Context, offset int64, out chan<- *chunk) (int64, error) {
	if offset < 0 {
		first, _, err := p.c.cluster.offsets(ctx, p.topic, p.id)
		if err != nil {
			return offset, err // still unknown: a guess of 0 would count all records that retention has removed as lost
		}
		p.setMark(first)
		return first, nil
	}
	res, release, err := p.c.cluster.fetch(ctx, p.c.limiter, p.topic, p.id, offset)
	if err != nil {
		return offset, err
	}
	defer release()
	p.highWatermark.Store(res.HighWatermark)
	if res.HasRecords() {
		crashpoint.Here(crashpoint.AfterFetch)
	}
	requested := offset
	records := wire.NewReader(res, offset, p.c.cfg.MaxMessageBytes, p.c.limiter.tryDecoder)
	defer func() {
		records.Close()
		aborted, control := records.Skipped()
		p.c.metrics.skipped.WithLabelValues("aborted").Add(float64(aborted))
		p.c.metrics.skipped.WithLabelValues("control").Add(float64(control))
	}()
	for records.More() && err == nil {
		offset, err = p.handOnChunk(ctx, records, offset, out)
	}
	if err == nil && res.HasRecords() && records.Offset() == requested {
		err = wire.ErrTruncated // brokers send the first batch whole
	}
	p.observeLag()
	return offset, err
}

// handOnChunk waits for memory, reads one chunk and hands it on. It returns the offset to go on with, also with an error.
func (p *partition) handOnChunk(ctx context.Context, records *wire.Reader, offset int64, out chan<- *chunk) (int64, error) {
	// Memory of the decompressor comes before that of records, or there is a deadlock: see limiter. A chunk goes on into the next batch
	// if that batch's decompressor need not be waited for. If the batch is damaged, readChunk returns the error.
	if err := records.Open(p.c.limiter.waitDecoder(ctx)); err != nil && ctx.Err() != nil {
		return offset, ctx.Err()
	}
	permit, err := p.c.limiter.acquire(ctx, p.c.chunkRecords, p.c.chunkBytes+p.c.cfg.MaxMessageBytes)
	if err != nil {
		return offset, err
	}
	ch, size, bad := p.readChunk(records)
	ch.permit = p.c.limiter.reduce(permit, len(ch.records), size)
	if ch.next == offset {
		p.c.limiter.release(ch.permit)
		return offset, bad
	}
	p.startTrace(ch)
	p.c.metrics.fetchedRecords.Add(float64(len(ch.records)))
	p.c.metrics.fetchedBytes.Add(float64(size))
	if err := p.send(ctx, ch, out); err != nil {
		return offset, err
	}
	return ch.next, bad
}

// readChunk reads records until the chunk is full, the response is at its end, the next batch must wait for its decompressor, or a record
// is damaged. The last record may exceed chunkBytes, by at most MaxMessageBytes: longer records come without their value.
func (p *partition) readChunk(records *wire.Reader) (ch *chunk, size int, err error) {
	ch = &chunk{}
	for len(ch.records) < p.c.chunkRecords && size < p.c.chunkBytes {
		rec, ok, bad := records.Next()
		if bad != nil || !ok {
			err = bad
			break
		}
		rec.Topic, rec.Partition = p.topic, p.id
		ch.records = append(ch.records, rec)
		size += rec.Size()
	}
	ch.next = records.Offset()
	return ch, size, err
}

// send hands the chunk on. If ctx ends first, it releases the chunk's permit.
func (p *partition) send(ctx context.Context, ch *chunk, out chan<- *chunk) error {
	select {
	case out <- ch:
		return nil
	case <-ctx.Done():
		p.release(ch)
		return ctx.Err()
	}
}

// errRecreated is reported until endOnTopicChange ends the group generation.
var errRecreated = errors.New("the topic was recreated")

// reset returns the offset to go on with when the broker no longer has offset: the log start, both if records were deleted before they
// were read and if the end of the log was lost. The loss is counted and logged. The number of lost records is a distance of offsets:
// it includes transaction markers and records that compaction had removed.
func (p *partition) reset(ctx context.Context, offset int64, out chan<- *chunk) (int64, error) {
	first, last, err := p.c.cluster.offsets(ctx, p.topic, p.id)
	if err != nil {
		return offset, err
	}
	if first <= offset && offset <= last {
		return offset, kafka.OffsetOutOfRange // the leader has changed meanwhile: fetch again
	}
	if p.c.input.wasRecreated(ctx) {
		return offset, errRecreated
	}
	if err := p.send(ctx, &chunk{next: first}, out); err != nil {
		return offset, err
	}
	lost := max(first-offset, 0)
	p.c.metrics.offsetResets.Inc()
	p.c.metrics.lostRecords.Add(float64(lost))
	p.c.log.Warn("the broker no longer has the next offset, reading from the start of the log: records were lost",
		"topic", p.topic, "partition", p.id, "offset", offset, "log_start", first, "log_end", last, "lost_records_at_most", lost)
	return first, nil
}

// prepare runs the first half of the handler on each chunk, until in is closed.
func (p *partition) prepare(ctx context.Context, in <-chan *chunk, out chan<- *chunk) {
	defer close(out)
	for ch := range in {
		if ctx.Err() == nil && len(ch.records) > 0 {
			_, span := tracing.Start(ch.traced(ctx), "prepare")
			ch.batch = p.c.handler.Prepare(ch.records)
			span.End()
			crashpoint.Here(crashpoint.AfterPrepare)
		}
		select {
		case out <- ch:
		case <-ctx.Done():
			p.release(ch)
		}
	}
}

// finish decides, publishes and marks chunk by chunk, until in is closed. After the first failure, and when ctx ends, it drops
// the remaining chunks without a mark: their records will be delivered again. Between chunks it looks after what the take-over has
// established: then no output is on its way.
func (p *partition) finish(ctx context.Context, in <-chan *chunk) {
	var upkeep <-chan time.Time // never ticks without exactly once
	if p.own != nil {
		ticker := time.NewTicker(p.c.upkeepInterval)
		defer ticker.Stop()
		upkeep = ticker.C
	}
	failed := false
	check := func(err error) {
		if err != nil && !failed {
			failed = true
			p.failed(ctx, err)
		}
	}
	for {
		select {
		case ch, more := <-in:
			if !more {
				return
			}
			if !failed && ctx.Err() == nil {
				check(p.finishChunk(ctx, ch))
			}
			p.release(ch)
		case <-upkeep:
			if !failed {
				check(p.upkeep(ctx))
			}
		}
	}
}

// failed ends the partition, or all of Run if its work failed for a reason of its own.
func (p *partition) failed(ctx context.Context, err error) {
	switch {
	case errors.Is(err, errTakenOver), errors.Is(err, errStandingLost):
		p.stop(err)
	case ctx.Err() == nil:
		p.c.fail(fmt.Errorf("consumer: %s/%d from offset %d: %w", p.topic, p.id, p.mark.Load().next, err))
	}
}

// upkeep keeps up what the take-over has established. The error is errTakenOver or errStandingLost.
func (p *partition) upkeep(ctx context.Context) error {
	switch own := p.own; {
	case own.moved(p.c.outputs.Load()):
		return errors.Join(errStandingLost, errOutputsChanged)
	case time.Since(own.fencedAt) >= p.c.renewalInterval(), time.Since(own.fencedAt) >= fadingRenewal && p.fades():
		for _, w := range p.writers {
			if w != nil {
				w.latest = time.Time{}
			}
		}
		return own.renew(ctx)
	case time.Since(own.refreshed) >= placesInterval:
		p.refreshPlaces(ctx)
	}
	return nil
}

// fades says whether a leader may forget this owner soon. Brokers take the latest timestamp in a producer's latest batch for the time at which
// they heard of the producer, and outputs have the timestamps of the input: after an old article, the next look at expired producers removes
// this one, and a former owner could publish. A marker has the time of the broker's clock. While the owner publishes, each of its batches
// makes the leader remember it again.
func (p *partition) fades() bool {
	for _, w := range p.writers {
		if w != nil && !w.latest.IsZero() && time.Since(w.latest) > min(p.c.fenceMemory, producerForgotten)/renewalsInMemory {
			return true
		}
	}
	return false
}

// refreshPlaces moves the positions to the ends of the output partitions. Partitions that publish little would otherwise keep old
// positions, and their next owner would read all that others have published since.
func (p *partition) refreshPlaces(ctx context.Context) {
	ends := slices.Clone(p.own.ends)
	if p.c.cluster.moveToEnds(ctx, ends) != nil {
		return // the next refresh does it
	}
	p.own.ends, p.own.refreshed = ends, time.Now()
	if now := p.mark.Load(); !slices.Equal(now.places, p.own.places(now.next, p.writers)) {
		p.setMark(now.next)
	}
}

// finishChunk returns nil when the chunk is marked, which is only after all its outputs are acknowledged.
func (p *partition) finishChunk(ctx context.Context, ch *chunk) error {
	if ch.batch != nil {
		ch.batch.Traceparent = ch.traceparent()
		ch.batch.Limits = p.c.limits.now()
		decide, span := tracing.Start(ch.traced(ctx), "decide")
		outputs, err := p.c.handler.Decide(decide, ch.batch)
		tracing.End(span, err)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.BeforePublish)
		start := time.Now()
		publish, span := tracing.Start(ch.traced(ctx), "publish")
		outputs = p.unpublished(outputs)
		err = p.c.publishBatch(publish, p.writers, p.id, ch.batch, outputs)
		tracing.End(span, err)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.AfterPublish)
		p.c.handler.Published(outputs, time.Since(start))
	}
	p.setMark(ch.next)
	crashpoint.Here(crashpoint.AfterMark)
	p.observeLag()
	return nil
}

// unpublished returns the outputs that the take-over has not found in the output topics.
func (p *partition) unpublished(outputs []pipeline.Output) []pipeline.Output {
	if p.own == nil || p.own.published.len == 0 {
		return outputs
	}
	left := slices.DeleteFunc(outputs, func(o pipeline.Output) bool { return p.own.published.has(o.Record.Offset) })
	p.c.metrics.alreadyPublished.Add(float64(len(outputs) - len(left)))
	return left
}

// observeLag sets the lag metric: the high watermark minus the mark. Records that were fetched and not yet marked count as lag.
func (p *partition) observeLag() {
	if next := p.mark.Load().next; next >= 0 {
		p.c.metrics.lag.WithLabelValues(p.name).Set(float64(max(p.highWatermark.Load()-next, 0)))
	}
}
