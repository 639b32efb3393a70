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

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/base/crashpoint"
	"echosieve/internal/base/tracing"
	"echosieve/pipeline"
	"echosieve/pipeline/record"

	"go.opentelemetry.io/otel/trace"
)

// partition is one input partition in one group generation. Three goroutines serve it: fetch, feed (prepare)
// and finish. Channels of capacity 1 connect them, so several batches are in flight. All batches pass in
// order, so one offset says how far the work is done.
type partition struct {
	c     *Consumer
	topic string
	id    int32
	name  string // id in decimal, for labels

	own     *ownership // nil with kafka.delivery: at_least_once
	writers *writers

	// mark is how far the partition is done; its Next is -1 as long as that is not known.
	mark          atomic.Pointer[broker.Commit]
	stop          func(error)    // ends run with an error; set by run
	committed     *broker.Commit // the latest mark that was committed; used by the commit loop only
	highWatermark atomic.Int64   // the offset after the last record that all in-sync replicas have
}

// batch is a run of records that goes through the stages together.
type batch struct {
	records  []record.Record // may be empty: then only the offset moves
	next     int64           // offset to commit when the batch is done
	permit   broker.Permit
	prepared *pipeline.Batch // nil before prepare, and if there are no records
	span     trace.Span      // nil if the batch is not traced
}

// newPartition returns a partition of the input topic. offset is the offset that the group has committed in
// it, negative if there is none. own is what a take-over has established, or nil.
func newPartition(c *Consumer, id int32, offset int64, own *ownership) *partition {
	p := &partition{c: c, topic: c.input.name, id: id, name: strconv.Itoa(int(id)), own: own}
	if own == nil {
		p.writers = c.sender.ownWriters(id)
	} else {
		p.writers = c.sender.fencedWriters(id, own)
	}
	p.setMark(max(offset, -1))
	p.committed = p.mark.Load()
	return p
}

// setMark is called only while no output of the partition is on its way. The positions belong to this moment,
// however much later the mark is committed.
func (p *partition) setMark(next int64) {
	m := &broker.Commit{Partition: p.id, Next: next, Owner: wire.Identity{ID: wire.NoProducerID}}
	if p.own != nil {
		m.Owner, m.Positions = p.own.as, p.own.positions(next, p.writers)
	}
	p.mark.Store(m)
}

// run fetches, prepares and finishes the partition's records until ctx ends, and finishes what is under way
// until work ends. It returns errStandingLost or errTakenOver if it had to stop before, otherwise nil.
func (p *partition) run(ctx, work context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, abort := context.WithCancel(work)
	defer abort()
	p.stop = func(err error) { stop(err); abort() }
	var stages sync.WaitGroup
	prepared := make(chan *batch, 1)
	stages.Go(func() { p.feed(ctx, work, prepared) })
	stages.Go(func() { p.finish(work, prepared) })
	stages.Wait()
	if err := context.Cause(ctx); errors.Is(err, errStandingLost) || errors.Is(err, errTakenOver) {
		return err
	}
	return nil
}

// feed fetches and prepares records until ctx ends, and then closes out. While a record waits for its schema,
// the partition holds no batch and no memory of the limiter: it fetches the record again afterwards. So
// partitions that wait do not stop the others.
func (p *partition) feed(ctx, work context.Context, out chan<- *batch) {
	defer close(out)
	for offset := p.mark.Load().Next; ctx.Err() == nil; offset = max(offset, p.mark.Load().Next) {
		reading, halt := context.WithCancel(ctx)
		fetched := make(chan *batch, 1)
		go p.fetch(reading, offset, fetched)
		next, pending := p.prepare(work, halt, fetched, out)
		halt()
		if pending == nil || pending.Wait(ctx) != nil {
			return
		}
		offset = max(offset, next)
	}
}

// prepare runs the first half of the handler on each batch, until in is closed. After the first failure it
// drops the remaining batches: their records will be delivered again. If a record's schema is not known yet,
// it calls halt, which makes in end, and returns what to wait for. next is the offset after the batches that
// were handed on, or -1.
func (p *partition) prepare(ctx context.Context, halt func(), in <-chan *batch, out chan<- *batch) (next int64,
	pending *pipeline.Pending) {
	next = -1
	failed := false
	for b := range in {
		if failed {
			p.release(b)
			continue
		}
		if ctx.Err() == nil && len(b.records) > 0 {
			traced, span := tracing.Start(b.traced(ctx), "prepare")
			var err error
			b.prepared, err = p.c.handler.Prepare(traced, b.records)
			tracing.End(span, err)
			if err != nil {
				if ctx.Err() == nil && errors.As(err, &pending) {
					halt()
				} else {
					p.failed(ctx, err)
				}
				p.release(b)
				failed = true
				continue
			}
			crashpoint.Here(crashpoint.AfterPrepare)
		}
		select {
		case out <- b:
			next = b.next
		case <-ctx.Done():
			p.release(b)
		}
	}
	return next, pending
}

// finish decides, publishes and marks batch by batch, until in is closed. After the first failure, and when
// ctx ends, it drops the remaining batches without a mark: their records will be delivered again. Between
// batches it looks after what the take-over has established: then no output is on its way.
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
		p.c.fail(fmt.Errorf("consumer: %s/%d from offset %d: %w", p.topic, p.id, p.mark.Load().Next, err))
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
	p.c.metrics.AlreadyAcknowledged.Add(float64(len(outputs) - len(left)))
	return left
}

// observeLag sets the lag metric: the high watermark minus the mark. Records that were fetched and not yet
// marked count as lag.
func (p *partition) observeLag() {
	if next := p.mark.Load().Next; next >= 0 {
		p.c.metrics.Lag.WithLabelValues(p.name).Set(float64(max(p.highWatermark.Load()-next, 0)))
	}
}

// release returns the memory of a batch that is done or dropped, and ends its trace.
func (p *partition) release(b *batch) {
	p.c.limiter.Release(b.permit)
	if b.span != nil {
		b.span.End()
	}
}
