package broker

import (
	"context"
	"runtime/debug"
	"sync"

	"echosieve/consumer/internal/wire"

	"golang.org/x/sync/semaphore"
)

// Limiter bounds the memory of the whole process for data between the broker's answer and its verdicts: a quarter
// of kafka.max_in_flight_bytes for fetch responses, which are still compressed, the rest for records, and a
// quarter more for decompressors. Memory is allocated only after a permit for it was granted.
//
// There is no deadlock, because a partition waits for permits in a fixed order: responses, decompressors,
// records, bytes. A partition that holds records never waits for a response or a decompressor. So the records
// that hold permits are always finished, which frees permits for those who wait. In another order: A has a
// batch half read and waits for records; all records are held by B, which waits for the decompressor of A. A
// decompressor stays open while its record batch is handed on in several batches.
//
// Waiters are served in order. A request for more than a whole share waits until nobody else holds any part
// of the share, and then exceeds it. For example, with 64 MiB a fetch response of 20 MiB waits until it is
// the only response in memory.
type Limiter struct {
	responses, decoders, records, bytes             *semaphore.Weighted
	maxResponses, maxDecoders, maxRecords, maxBytes int64
	metrics                                         *Metrics
}

// NewLimiter returns a limiter for so many records and bytes in flight. m may be nil if no records are acquired.
func NewLimiter(records, bytes int, m *Metrics) *Limiter {
	quarter := max(bytes/4, 1)
	l := &Limiter{
		maxResponses: int64(quarter), maxDecoders: int64(quarter), maxRecords: int64(records),
		maxBytes: int64(max(bytes-quarter, 1)), metrics: m,
	}
	l.responses, l.decoders = semaphore.NewWeighted(l.maxResponses), semaphore.NewWeighted(l.maxDecoders)
	l.records, l.bytes = semaphore.NewWeighted(l.maxRecords), semaphore.NewWeighted(l.maxBytes)
	return l
}

// largeDecoder is the memory in bytes from which a decompressor is collected before the next one is opened.
// Otherwise the next one could be allocated beside the garbage of several others: with windows of 128 MiB,
// two are more than a container of 512 MiB can spare.
const largeDecoder = 16 << 20

// WaitDecoder returns a wire.Reserve that waits for memory in the share of decompressors.
func (l *Limiter) WaitDecoder(ctx context.Context) wire.Reserve {
	return func(n int64) (func(), error) {
		if err := l.decoders.Acquire(ctx, min(n, l.maxDecoders)); err != nil {
			return nil, err
		}
		return func() { l.releaseDecoder(n) }, nil
	}
}

// TryDecoder is a wire.Reserve that does not wait.
func (l *Limiter) TryDecoder(n int64) (release func(), err error) {
	if !l.decoders.TryAcquire(min(n, l.maxDecoders)) {
		return nil, wire.ErrNoMemory
	}
	return func() { l.releaseDecoder(n) }, nil
}

func (l *Limiter) releaseDecoder(n int64) {
	if n >= largeDecoder {
		debug.FreeOSMemory()
	}
	l.decoders.Release(min(n, l.maxDecoders))
}

// Permit is the share of the limiter that a batch of records holds.
type Permit struct {
	records, bytes int64
	counted        bool // in the metrics
}

// WaitRecords waits for a permit for a batch that is not decompressed yet. records and bytes are the most that it can
// need.
func (l *Limiter) WaitRecords(ctx context.Context, records, bytes int) (Permit, error) {
	p := Permit{records: min(int64(records), l.maxRecords), bytes: min(int64(bytes), l.maxBytes)}
	if err := l.records.Acquire(ctx, p.records); err != nil {
		return Permit{}, err
	}
	if err := l.bytes.Acquire(ctx, p.bytes); err != nil {
		l.records.Release(p.records)
		return Permit{}, err
	}
	return p, nil
}

// Reduce gives back the part of the permit that the batch did not need.
func (l *Limiter) Reduce(p Permit, records, bytes int) Permit {
	used := Permit{min(int64(records), p.records), min(int64(bytes), p.bytes), true}
	l.records.Release(p.records - used.records)
	l.bytes.Release(p.bytes - used.bytes)
	l.metrics.inFlightRecords.Add(float64(used.records))
	l.metrics.inFlightBytes.Add(float64(used.bytes))
	return used
}

// Release gives the permit back.
func (l *Limiter) Release(p Permit) {
	if p.counted { // the metrics come first, so that they never show more than the limit
		l.metrics.inFlightRecords.Sub(float64(p.records))
		l.metrics.inFlightBytes.Sub(float64(p.bytes))
	}
	l.records.Release(p.records)
	l.bytes.Release(p.bytes)
}

// smallResponse is the size in bytes up to which a fetch response needs no permit: empty ones and those with a few
// records, which would otherwise wait behind the backlogs of other partitions.
const smallResponse = 16 << 10

// responsePermit is the memory that one fetch may use for its response. It is acquired when the size of the
// response is known, so an idle partition holds nothing. If every fetch held its greatest size from the
// start, the fetches of 200 idle partitions would hold the whole limit, and no partition with records could
// read.
//
// kafka-go reads responses in another goroutine. That goroutine can call acquire after the fetch has returned
// because its context ended. Nobody would release that memory, so acquire fails after release.
type responsePermit struct {
	limiter *Limiter

	mu       sync.Mutex
	held     int64
	released bool
}

// acquire waits until the response of n bytes may be read.
func (p *responsePermit) acquire(ctx context.Context, n int64) error {
	if n <= smallResponse {
		return nil
	}
	n = min(n, p.limiter.maxResponses)
	if err := p.limiter.responses.Acquire(ctx, n); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		p.limiter.responses.Release(n)
		return context.Canceled
	}
	p.held = n
	return nil
}

// release gives the memory back. Calls after the first do nothing.
func (p *responsePermit) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limiter.responses.Release(p.held)
	p.held, p.released = 0, true
}
