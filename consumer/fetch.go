package consumer

import (
	"context"
	"errors"
	"fmt"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// fetch fetches records from offset on, or from the log start if offset is negative, until ctx ends. Then it
// closes out. After an error it waits and tries again.
func (p *partition) fetch(ctx context.Context, offset int64, out chan<- *batch) {
	defer close(out)
	var retry stopping.Backoff
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
			p.c.reporter.Failed(broker.OpFetch, p.subject, fmt.Errorf("consumer: fetch %s/%d at offset %d: %w", p.topic, p.id,
				offset, err))
			if retry.Wait(ctx) != nil {
				return
			}
		} else {
			p.c.reporter.OK(broker.OpFetch, p.subject)
			retry.Reset()
		}
		offset = next
	}
}

// fetchOnce sends one fetch and hands on the records, batch by batch. It returns the offset to go on with,
// also with an error: the records before a damaged batch have been handed on.
func (p *partition) fetchOnce(ctx context.Context, offset int64, out chan<- *batch) (int64, error) {
	if offset < 0 {
		first, _, err := p.c.cluster.Offsets(ctx, p.topic, p.id)
		if err != nil {
			return offset, err // still unknown: a guess of 0 would count all records that retention has removed as lost
		}
		p.setMark(first)
		return first, nil
	}
	res, release, err := p.c.cluster.Fetch(ctx, p.c.limiter, &p.near, p.topic, p.id, offset, p.c.cfg.FetchMaxBytes)
	if err != nil {
		return offset, err
	}
	defer release()
	p.highWatermark.Store(res.HighWatermark)
	if res.HasRecords() {
		crashpoint.Here(crashpoint.AfterFetch)
	}
	requested := offset
	records := wire.NewReader(res, offset, p.c.cfg.MaxMessageBytes, p.c.limiter.TryDecoder)
	defer func() {
		records.Close()
		aborted, control := records.Skipped()
		p.c.metrics.Skipped.WithLabelValues("aborted").Add(float64(aborted))
		p.c.metrics.Skipped.WithLabelValues("control").Add(float64(control))
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
	// Memory of the decompressor comes before that of records, or there is a deadlock: see broker.Limiter. A batch
	// goes on into the next record batch if that record batch's decompressor need not be waited for. If the
	// record batch is damaged, readBatch returns the error.
	if err := records.Open(p.c.limiter.WaitDecoder(ctx)); err != nil && ctx.Err() != nil {
		return offset, ctx.Err()
	}
	permit, err := p.c.limiter.Acquire(ctx, p.c.batchRecords, p.c.batchBytes+p.c.cfg.MaxMessageBytes)
	if err != nil {
		return offset, err
	}
	b, size, bad := p.readBatch(records)
	b.permit = p.c.limiter.Reduce(permit, len(b.records), size)
	if b.next == offset {
		p.c.limiter.Release(b.permit)
		return offset, bad
	}
	p.startTrace(b)
	p.c.metrics.FetchedRecords.Add(float64(len(b.records)))
	p.c.metrics.FetchedBytes.Add(float64(size))
	if err := p.send(ctx, b, out); err != nil {
		return offset, err
	}
	return b.next, bad
}

// readBatch reads records until the batch is full, the response is at its end, the next record batch must
// wait for its decompressor, or a record is damaged. The last record may exceed batchBytes, by at most
// MaxMessageBytes: longer records come without their value.
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

// reset returns the offset to go on with when the broker no longer has offset: the log start, both if records
// were deleted before they were read and if the end of the log was lost. The loss is counted and logged. The
// number of lost records is a distance of offsets: it includes transaction markers and records that
// compaction had removed.
func (p *partition) reset(ctx context.Context, offset int64, out chan<- *batch) (int64, error) {
	first, last, err := p.c.cluster.Offsets(ctx, p.topic, p.id)
	if err != nil {
		return offset, err
	}
	if first <= offset && offset <= last {
		return offset, kafka.OffsetOutOfRange // the leader has changed meanwhile: fetch again
	}
	if p.input.wasRecreated(ctx) {
		return offset, errRecreated
	}
	if err := p.send(ctx, &batch{next: first}, out); err != nil {
		return offset, err
	}
	lost := max(first-offset, 0)
	p.c.metrics.OffsetResets.Inc()
	p.c.metrics.LostRecords.Add(float64(lost))
	p.c.log.Warn("the broker no longer has the next offset, reading from the start of the log: records were lost",
		"topic", p.topic, "partition", p.id, "offset", offset, "log_start", first, "log_end", last,
		"lost_records_at_most", lost)
	return first, nil
}
