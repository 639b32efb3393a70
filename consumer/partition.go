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
// capacity 1 connect them, so several batches are in flight. All batches pass in order, so one offset says how far the work is done.
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

// batch is a run of records that goes through the stages together.
type batch struct {
	records  []record.Record // may be empty: then only the offset moves
	next     int64           // offset to commit when the batch is done
	permit   permit
	prepared *pipeline.Batch // nil before prepare, and if there are no records
	span     trace.Span      // nil if the batch is not traced
}

// mark is an offset and the positions that belong to it. Both are committed together.
type mark struct {
	next      int64      // every output of the records before it is acknowledged
	positions []position // in no output partition does an output of a record at or after next stand before its position
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
		m.positions = p.own.positions(next, p.writers)
	}
	p.mark.Store(m)
}

// ownerWords returns the words of the label that belong to the mark.
func (p *partition) ownerWords(m *mark) []label.Word {
	if p.own == nil {
		return nil
	}
	return ownerWords(p.own.as, m.positions)
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
	fetched, prepared := make(chan *batch, 1), make(chan *batch, 1)
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
func (p *partition) fetch(ctx context.Context, offset int64, out chan<- *batch) {
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

// fetchOnce sends one fetch and hands on the records, batch by batch. It returns the offset to go on with, also with an error: the
// records before a damaged batch have been handed on.
func (p *partition) fetchOnce(ctx context.Context, offset int64, out chan<- *batch) (int64, error) {
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
		offset, err = p.handOn(ctx, records, offset, out)
	}
	if err == nil && res.HasRecords() && records.Offset() == requested {
		err = wire.ErrTruncated // brokers send the first batch whole
	}
	p.observeLag()
	return offset, err
}

// handOn waits for memory, reads one batch and hands it on. It returns the offset to go on with, also with an error.
func (p *partition) handOn(ctx context.Context, records *wire.Reader, offset int64, out chan<- *batch) (int64, error) {
	// Memory of the decompressor comes before that of records, or there is a deadlock: see limiter. A batch goes on into the next record batch
	// if that record batch's decompressor need not be waited for. If the record batch is damaged, readBatch returns the error.
	if err := records.Open(p.c.limiter.waitDecoder(ctx)); err != nil && ctx.Err() != nil {
		return offset, ctx.Err()
	}
	permit, err := p.c.limiter.acquire(ctx, p.c.batchRecords, p.c.batchBytes+p.c.cfg.MaxMessageBytes)
	if err != nil {
		return offset, err
	}
	b, size, bad := p.readBatch(records)
	b.permit = p.c.limiter.reduce(permit, len(b.records), size)
	if b.next == offset {
		p.c.limiter.release(b.permit)
		return offset, bad
	}
	p.startTrace(b)
	p.c.metrics.fetchedRecords.Add(float64(len(b.records)))
	p.c.metrics.fetchedBytes.Add(float64(size))
	if err := p.send(ctx, b, out); err != nil {
		return offset, err
	}
	return b.next, bad
}

// readBatch reads records until the batch is full, the response is at its end, the next record batch must wait for its decompressor, or a record
// is damaged. The last record may exceed batchBytes, by at most MaxMessageBytes: longer records come without their value.
func (p *partition) readBatch(records *wire.Reader) (b *batch, size int, err error) {
	b = &batch{}
	for len(b.records) < p.c.batchRecords && size < p.c.batchBytes {
		rec, ok, bad := records.Next()
		if bad != nil || !ok {
			err = bad
			break
		}
		rec.Topic, rec.Partition = p.topic, p.id
		b.records = append(b.records, rec)
		size += rec.Size()
	}
	b.next = records.Offset()
	return b, size, err
}

// send hands the batch on. If ctx ends first, it releases the batch's permit.
func (p *partition) send(ctx context.Context, b *batch, out chan<- *batch) error {
	select {
	case out <- b:
		return nil
	case <-ctx.Done():
		p.release(b)
		return ctx.Err()
	}
}

// errRecreated is reported until endOnTopicChange ends the group generation.
var errRecreated = errors.New("the topic was recreated")

// reset returns the offset to go on with when the broker no longer has offset: the log start, both if records were deleted before they
// were read and if the end of the log was lost. The loss is counted and logged. The number of lost records is a distance of offsets:
// it includes transaction markers and records that compaction had removed.
func (p *partition) reset(ctx context.Context, offset int64, out chan<- *batch) (int64, error) {
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
	if err := p.send(ctx, &batch{next: first}, out); err != nil {
		return offset, err
	}
	lost := max(first-offset, 0)
	p.c.metrics.offsetResets.Inc()
	p.c.metrics.lostRecords.Add(float64(lost))
	p.c.log.Warn("the broker no longer has the next offset, reading from the start of the log: records were lost",
		"topic", p.topic, "partition", p.id, "offset", offset, "log_start", first, "log_end", last, "lost_records_at_most", lost)
	return first, nil
}

// prepare runs the first half of the handler on each batch, until in is closed.
func (p *partition) prepare(ctx context.Context, in <-chan *batch, out chan<- *batch) {
	defer close(out)
	for b := range in {
		if ctx.Err() == nil && len(b.records) > 0 {
			_, span := tracing.Start(b.traced(ctx), "prepare")
			b.prepared = p.c.handler.Prepare(b.records)
			span.End()
			crashpoint.Here(crashpoint.AfterPrepare)
		}
		select {
		case out <- b:
		case <-ctx.Done():
			p.release(b)
		}
	}
}

// finish decides, publishes and marks batch by batch, until in is closed. After the first failure, and when ctx ends, it drops
// the remaining batches without a mark: their records will be delivered again. Between batches it looks after what the take-over has
// established: then no output is on its way.
func (p *partition) finish(ctx context.Context, in <-chan *batch) {
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
		case b, more := <-in:
			if !more {
				return
			}
			if !failed && ctx.Err() == nil {
				check(p.finishBatch(ctx, b))
			}
			p.release(b)
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

// fades says whether a leader may forget this owner soon. Brokers take the latest timestamp in a producer's latest record batch for the time at which
// they heard of the producer, and outputs have the timestamps of the input: after an old article, the next look at expired producers removes
// this one, and a former owner could publish. A marker has the time of the broker's clock. While the owner publishes, each of its record batches
// makes the leader remember it again.
func (p *partition) fades() bool {
	for _, w := range p.writers {
		if w != nil && !w.latest.IsZero() && !w.identity.remembered(w.latest) {
			return true
		}
	}
	return false
}

// refreshPositions moves the positions to the ends of the output partitions. Partitions that publish little would otherwise keep old
// positions, and their next owner would read all that others have published since.
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

// finishBatch returns nil when the batch is marked, which is only after all its outputs are acknowledged.
func (p *partition) finishBatch(ctx context.Context, b *batch) error {
	if b.prepared != nil {
		b.prepared.Traceparent = b.traceparent()
		b.prepared.Limits = p.c.limits.now()
		claim, span := tracing.Start(b.traced(ctx), "claim")
		outputs, err := p.c.handler.Decide(claim, b.prepared)
		tracing.End(span, err)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.BeforePublish)
		start := time.Now()
		publish, span := tracing.Start(b.traced(ctx), "publish")
		outputs = p.unacknowledged(outputs)
		err = p.c.publishBatch(publish, p.writers, p.id, b.prepared, outputs)
		tracing.End(span, err)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.AfterPublish)
		p.c.handler.Acknowledged(outputs, time.Since(start))
	}
	p.setMark(b.next)
	crashpoint.Here(crashpoint.AfterMark)
	p.observeLag()
	return nil
}

// unacknowledged returns the outputs that the take-over has not found in the output topics.
func (p *partition) unacknowledged(outputs []pipeline.Output) []pipeline.Output {
	if p.own == nil || p.own.acknowledged.len == 0 {
		return outputs
	}
	left := slices.DeleteFunc(outputs, func(o pipeline.Output) bool { return p.own.acknowledged.has(o.Record.Offset) })
	p.c.metrics.alreadyAcknowledged.Add(float64(len(outputs) - len(left)))
	return left
}

// observeLag sets the lag metric: the high watermark minus the mark. Records that were fetched and not yet marked count as lag.
func (p *partition) observeLag() {
	if next := p.mark.Load().next; next >= 0 {
		p.c.metrics.lag.WithLabelValues(p.name).Set(float64(max(p.highWatermark.Load()-next, 0)))
	}
}
