package consumer

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// limiter bounds what the whole process holds between the broker's answer and the mark: a quarter of the bytes for fetch
// responses, which are still packed, the rest for records. Whoever wants memory gets a permit first, and takes the memory then.
//
// Nobody waits for ever: permits are asked for in the order responses, records, bytes. Who holds records never
// asks for a response, so records are always worked off, and responses are unpacked as that happens. Waiters are served in
// turn. What is larger than a whole share counts as the share: it waits until it is alone, and then exceeds it.
type limiter struct {
	responses, records, bytes          *semaphore.Weighted
	maxResponses, maxRecords, maxBytes int64
	metrics                            *metrics
}

func newLimiter(records, bytes int, m *metrics) *limiter {
	responses := max(bytes/4, 1)
	l := &limiter{maxResponses: int64(responses), maxRecords: int64(records), maxBytes: int64(max(bytes-responses, 1)), metrics: m}
	l.responses = semaphore.NewWeighted(l.maxResponses)
	l.records, l.bytes = semaphore.NewWeighted(l.maxRecords), semaphore.NewWeighted(l.maxBytes)
	return l
}

// permit is what a chunk holds of the limiter.
type permit struct {
	records, bytes int64
	counted        bool // in the metrics
}

// acquire waits until there is room for a chunk that is not unpacked yet: at most so many records and bytes.
func (l *limiter) acquire(ctx context.Context, records, bytes int) (permit, error) {
	p := permit{records: min(int64(records), l.maxRecords), bytes: min(int64(bytes), l.maxBytes)}
	if err := l.records.Acquire(ctx, p.records); err != nil {
		return permit{}, err
	}
	if err := l.bytes.Acquire(ctx, p.bytes); err != nil {
		l.records.Release(p.records)
		return permit{}, err
	}
	return p, nil
}

// settle gives back what the chunk did not need of its permit.
func (l *limiter) settle(p permit, records, bytes int) permit {
	used := permit{min(int64(records), p.records), min(int64(bytes), p.bytes), true}
	l.records.Release(p.records - used.records)
	l.bytes.Release(p.bytes - used.bytes)
	l.metrics.inFlightRecords.Add(float64(used.records))
	l.metrics.inFlightBytes.Add(float64(used.bytes))
	return used
}

func (l *limiter) release(p permit) {
	if p.counted { // first the metrics: they never show more than the limit
		l.metrics.inFlightRecords.Sub(float64(p.records))
		l.metrics.inFlightBytes.Sub(float64(p.bytes))
	}
	l.records.Release(p.records)
	l.bytes.Release(p.bytes)
}
