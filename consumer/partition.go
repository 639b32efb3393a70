package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"
	"echosieve/internal/telemetry"
	"echosieve/pipeline"
	"echosieve/pipeline/decode"
)

// servedPartition is one partition of an input topic in one group generation. Three goroutines serve it: fetch, feed
// (prepare) and finish. Channels without a buffer connect them: at most three batches are in flight, so a backlog
// leaves memory and cores to other partitions. All batches pass in order, so one offset says how far the work is done.
type servedPartition struct {
	*progress
	stop      func(error)    // ends run with an error; set by run
	committed *broker.Commit // the latest that was committed; used by the commit loop only
}

// newServedPartition returns a partition of an input topic that this process owns.
func newServedPartition(w *work, at startPosition, owner *delivery.Owner) *servedPartition {
	p := &servedPartition{progress: &progress{work: w, TopicPartition: at.TopicPartition, input: at.input,
		name: strconv.Itoa(int(at.Partition)), owner: owner}}
	p.setCommittable(max(owner.Next, -1))
	p.committed = p.committable.Load()
	return p
}

// run fetches, prepares and finishes the partition's records until ctx ends, and finishes what is under way
// until work ends. It returns an end of the owner if it had to stop before, otherwise nil.
func (p *servedPartition) run(ctx, work context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, abort := context.WithCancel(work)
	defer abort()
	p.stop = func(err error) { stop(err); abort() }
	var stages sync.WaitGroup
	prepared := make(chan *batch)
	stages.Go(func() { p.feed(ctx, work, prepared) })
	stages.Go(func() { p.finish(work, prepared) })
	stages.Wait()
	if err := context.Cause(ctx); errors.Is(err, delivery.ErrStandingLost) || errors.Is(err, delivery.ErrTakenOver) {
		return err
	}
	return nil
}

// feed fetches and prepares records until ctx ends, and then closes out. While a record waits for its schema,
// the partition holds no batch and no memory of the limiter: it fetches the record again afterwards. So
// partitions that wait do not stop the others.
func (p *servedPartition) feed(ctx, work context.Context, out chan<- *batch) {
	defer close(out)
	from := p.cluster.Partition(p.Topic, p.Partition)
	from.Limiter, from.Near = p.limiter, true
	for offset := p.committable.Load().Next; ctx.Err() == nil; offset = max(offset, p.committable.Load().Next) {
		reading, halt := context.WithCancel(ctx)
		fetched := make(chan *batch)
		go (&fetcher{progress: p.progress, from: from, out: fetched}).run(reading, offset)
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
func (p *servedPartition) prepare(ctx context.Context, halt func(), in <-chan *batch, out chan<- *batch) (next int64,
	pending *decode.Pending,
) {
	next = -1
	failed := false
	for b := range in {
		if failed {
			p.release(b)
			continue
		}
		if ctx.Err() == nil && len(b.records) > 0 {
			traced, span := telemetry.Start(b.traced(ctx), "prepare")
			var err error
			b.prepared, err = p.handler.Prepare(traced, b.records)
			telemetry.End(span, err)
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

// finish decides and publishes batch by batch, until in is closed. After the first failure, and when ctx ends, it drops
// the remaining batches: their records will be delivered again. Between batches it looks after what the take-over has
// established: then no output is on its way.
func (p *servedPartition) finish(ctx context.Context, in <-chan *batch) {
	upkeep := time.NewTicker(delivery.UpkeepInterval)
	defer upkeep.Stop()
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
		case <-upkeep.C:
			if !failed {
				moved, err := p.owner.Upkeep(ctx)
				check(err)
				if moved {
					p.setCommittable(p.committable.Load().Next)
				}
			}
		}
	}
}

// failed ends the partition, or all of Run if its work failed for a reason of its own.
func (p *servedPartition) failed(ctx context.Context, err error) {
	switch {
	case errors.Is(err, delivery.ErrTakenOver), errors.Is(err, delivery.ErrStandingLost):
		p.stop(err)
	case ctx.Err() != nil:
	case stopping.Began(ctx):
		p.log.Warn("the process stops while work under way fails, its records will be delivered again",
			"topic", p.Topic, "partition", p.Partition, "err", err)
	default:
		p.fail(fmt.Errorf("consumer: %s from offset %d: %w", p.TopicPartition, p.committable.Load().Next, err))
	}
}

// finishBatch returns nil when the batch is marked, which is only after all its outputs are acknowledged.
func (p *servedPartition) finishBatch(ctx context.Context, b *batch) error {
	if _, ok := p.handler.(Snapshots); ok && len(b.records) >= takesTurns {
		p.turn.Lock()
		defer p.turn.Unlock()
	}
	if b.prepared != nil {
		b.prepared.Traceparent = telemetry.Traceparent(b.span)
		b.prepared.Limits = p.delivery.Limits()
		claim, span := telemetry.Start(b.traced(ctx), "claim")
		outputs, err := p.handler.Decide(claim, b.prepared)
		telemetry.End(span, err)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.BeforePublish)
		start := time.Now()
		publish, span := telemetry.Start(b.traced(ctx), "publish")
		outputs = p.unacknowledged(outputs)
		err = p.publish(publish, b.prepared, outputs)
		telemetry.End(span, err)
		if err != nil {
			return err
		}
		crashpoint.Here(crashpoint.AfterPublish)
		p.handler.Acknowledged(outputs, time.Since(start))
		if err := p.publishOutdated(ctx, b.prepared); err != nil {
			return err
		}
	}
	p.setCommittable(b.next)
	crashpoint.Here(crashpoint.AfterCommittable)
	p.observeLag()
	return nil
}

// unacknowledged returns the outputs that the take-over has not found in the output topics.
func (p *servedPartition) unacknowledged(outputs []pipeline.Output) []pipeline.Output {
	left := slices.DeleteFunc(outputs, func(o pipeline.Output) bool { return p.owner.Acknowledged(o.Record.Offset) })
	p.metrics.AlreadyAcknowledged.Add(float64(len(outputs) - len(left)))
	return left
}

// publish returns nil when every output of a batch is acknowledged. If a topic refuses an output permanently, its dead
// letter is published, and replaces it in outputs. publish tries until ctx ends. It returns ctx's error, or an end of
// the owner.
func (p *servedPartition) publish(ctx context.Context, b *pipeline.Batch, outputs []pipeline.Output) error {
	pending := make([]*pipeline.Output, len(outputs))
	for i := range outputs {
		pending[i] = &outputs[i]
	}
	for len(pending) > 0 {
		refusals, err := p.owner.Publish(ctx, pending)
		if err != nil {
			return err
		}
		pending = pending[:0]
		for _, r := range refusals {
			dead, err := p.handler.Refused(ctx, b, r.Output, r.Why)
			if err != nil {
				return err
			}
			*r.Output = dead
			pending = append(pending, r.Output)
		}
	}
	return nil
}

// publishOutdated publishes snapshots of the batch until none is outdated.
func (p *servedPartition) publishOutdated(ctx context.Context, b *pipeline.Batch) error {
	handler, ok := p.handler.(Snapshots)
	for ok {
		start := time.Now()
		outputs, err := handler.Outdated(ctx, b)
		if err != nil || len(outputs) == 0 {
			return err
		}
		if err := p.publish(ctx, b, outputs); err != nil {
			return err
		}
		handler.Acknowledged(outputs, time.Since(start))
	}
	return nil
}
