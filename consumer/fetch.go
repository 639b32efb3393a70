package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// fetcher fetches the records of a partition, and hands them on in batches. It holds no batch: one that out does not
// take before the context ends is released.
type fetcher struct {
	*progress
	from *broker.Partition
	out  chan<- *batch

	stopped int64     // offset at which an open transaction stops the partition
	since   time.Time // zero: none does
	said    bool

	short time.Time // since when the log seems to end before the next offset; zero: it does not
}

// sayTransaction says when all committed records up to offset are read, and an open transaction holds back those behind
// it.
func (f *fetcher) sayTransaction(offset int64, res *wire.FetchResponse) {
	subject := f.String()
	switch {
	case res.LastStable < 0 || offset < res.LastStable || res.LastStable >= res.HighWatermark:
		f.since, f.said = time.Time{}, false
		f.reporter.OK(broker.OpTransaction, subject)
	case f.since.IsZero() || offset != f.stopped:
		f.stopped, f.since = offset, time.Now()
	case !f.said && time.Since(f.since) >= f.openPatience:
		f.said = true
		f.reporter.Waits(broker.OpTransaction, subject, diag.Waits(fmt.Sprintf("a producer's open transaction stops %s at "+
			"offset %d: end it there, or find it with kafka-transactions.sh --bootstrap-server %s describe-producers --topic "+
			"%s --partition %s, and abort it", subject, offset, f.cfg.Brokers[0], f.Topic, f.name)))
	}
}

// run fetches records from offset on, or from the log start if offset is negative, until ctx ends. Then it closes out.
// After an error it waits and tries again.
func (f *fetcher) run(ctx context.Context, offset int64) {
	defer close(f.out)
	subject := f.String()
	var retry stopping.Backoff
	for ctx.Err() == nil {
		next, err := f.fetchOnce(ctx, offset)
		if errors.Is(err, kafka.OffsetOutOfRange) {
			next, err = f.reset(ctx, offset)
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, wire.ErrLate):
			continue // the broker works: its response waited below our memory limit for too long
		case err != nil:
			f.reporter.Failed(broker.OpFetch, subject, fmt.Errorf("consumer: fetch %s at offset %d: %w", subject, offset, err))
			_ = retry.Wait(ctx)
		default:
			f.reporter.OK(broker.OpFetch, subject)
			retry.Reset()
			f.short = time.Time{}
		}
		offset = next
	}
}

// fetchOnce sends one fetch and hands on the records, batch by batch. It returns the offset to go on with,
// also with an error: the records before a damaged batch have been handed on.
func (f *fetcher) fetchOnce(ctx context.Context, offset int64) (int64, error) {
	if offset < 0 {
		first, _, err := f.from.Offsets(ctx)
		if err != nil {
			return offset, err // still unknown: a guess of 0 would count all records that retention has removed as lost
		}
		f.setCommittable(first)
		return first, nil
	}
	res, release, err := f.from.Fetch(ctx, offset, f.cfg.FetchMaxBytes)
	if err != nil {
		return offset, err
	}
	defer release()
	f.highWatermark.Store(res.HighWatermark)
	if res.HasRecords() {
		crashpoint.Here(crashpoint.AfterFetch)
	}
	requested := offset
	records := wire.NewReader(res, offset, f.cfg.MaxMessageBytes, f.limiter.TryDecoder)
	defer func() {
		records.Close()
		aborted, control := records.Skipped()
		f.metrics.Skipped.WithLabelValues("aborted").Add(float64(aborted))
		f.metrics.Skipped.WithLabelValues("control").Add(float64(control))
	}()
	for records.More() && err == nil {
		offset, err = f.handOn(ctx, records, offset)
	}
	if err == nil && res.HasRecords() && records.Offset() == requested {
		err = wire.ErrTruncated // brokers send the first batch whole
	}
	f.observeLag()
	if err == nil {
		f.sayTransaction(offset, res)
	}
	return offset, err
}

// handOn waits for memory, reads one batch and hands it on. It returns the offset to go on with, also with an error.
func (f *fetcher) handOn(ctx context.Context, records *wire.Reader, offset int64) (int64, error) {
	// Memory of the decompressor comes before that of records, or there is a deadlock: see broker.Limiter. A batch
	// goes on into the next record batch if that record batch's decompressor need not be waited for. If the
	// record batch is damaged, readBatch returns the error.
	if err := records.Open(f.limiter.WaitDecoder(ctx)); err != nil && ctx.Err() != nil {
		return offset, ctx.Err()
	}
	permit, err := f.limiter.WaitRecords(ctx, f.batchRecords, f.batchBytes+f.cfg.MaxMessageBytes)
	if err != nil {
		return offset, err
	}
	b, size, bad := f.readBatch(records)
	b.permit = f.limiter.Reduce(permit, len(b.records), size)
	if b.next == offset {
		f.limiter.Release(b.permit)
		return offset, bad
	}
	f.startTrace(b)
	f.metrics.FetchedRecords.Add(float64(len(b.records)))
	f.metrics.FetchedBytes.Add(float64(size))
	if err := f.send(ctx, b); err != nil {
		return offset, err
	}
	return b.next, bad
}

// readBatch reads records until the batch is full, the response is at its end, the next record batch must
// wait for its decompressor, or a record is damaged. The last record may exceed batchBytes, by at most
// MaxMessageBytes: longer records come without their value.
func (f *fetcher) readBatch(records *wire.Reader) (b *batch, size int, err error) {
	b = newBatch()
	for len(b.records) < f.batchRecords && size < f.batchBytes {
		rec, ok, bad := records.Next()
		if bad != nil || !ok {
			err = bad
			break
		}
		rec.Topic, rec.Partition = f.Topic, f.Partition
		b.records = append(b.records, rec)
		size += rec.Size()
	}
	b.next = records.Offset()
	return b, size, err
}

// send hands the batch on. If ctx ends first, it releases the batch's permit.
func (f *fetcher) send(ctx context.Context, b *batch) error {
	select {
	case f.out <- b:
		return nil
	case <-ctx.Done():
		f.release(b)
		return ctx.Err()
	}
}

// errShort is reported until the leader has the next offset again, or shortPatience has passed.
var errShort = errors.New("the log of the partition's leader ends before the next offset: if this lasts, its end is lost")

// errRecreated is reported until endOnTopicChange ends the group generation.
var errRecreated = errors.New("the topic was recreated")

// reset returns the offset to go on with when the broker no longer has offset: the log start, both if records
// were deleted before they were read and if the end of the log was lost. A broker that was cut off from the others
// answers as leader with a shorter log, until it learns that another one leads: the end is lost if that lasts. The loss
// is counted and logged. The number of lost records is a distance of offsets: it includes transaction markers and
// records that compaction had removed.
func (f *fetcher) reset(ctx context.Context, offset int64) (int64, error) {
	first, last, err := f.from.Offsets(ctx)
	if err != nil {
		return offset, err
	}
	if first <= offset && offset <= last {
		return offset, kafka.OffsetOutOfRange // the leader has changed meanwhile: fetch again
	}
	if now, err := f.cluster.Topic(ctx, f.Topic); err == nil && f.input.differs(now.ID) {
		return offset, errRecreated
	}
	if offset > last {
		if f.short.IsZero() {
			f.short = time.Now()
		}
		if time.Since(f.short) < f.shortPatience {
			return offset, errShort
		}
	}
	b := newBatch()
	b.next = first
	if err := f.send(ctx, b); err != nil {
		return offset, err
	}
	lost := max(first-offset, 0)
	f.metrics.OffsetResets.Inc()
	f.metrics.LostRecords.Add(float64(lost))
	f.log.Warn("the broker no longer has the next offset, reading from the start of the log: records were lost",
		"topic", f.Topic, "partition", f.Partition, "offset", offset, "log_start", first, "log_end", last,
		"lost_records_at_most", lost)
	return first, nil
}
