package consumer

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// limiter bounds the records, and their bytes, that are between fetch and mark in the whole process.
type limiter struct {
	records, bytes       *semaphore.Weighted
	maxRecords, maxBytes int64
	metrics              *metrics
}

func newLimiter(records, bytes int, m *metrics) *limiter {
	return &limiter{
		records: semaphore.NewWeighted(int64(records)), bytes: semaphore.NewWeighted(int64(bytes)),
		maxRecords: int64(records), maxBytes: int64(bytes), metrics: m,
	}
}

// permit is what a chunk holds of the limiter. What is larger than the whole budget counts as the budget.
type permit struct{ records, bytes int64 }

// acquire waits until there is room. Records are taken before bytes, by everybody, so that two waiters never
// wait for each other.
func (l *limiter) acquire(ctx context.Context, records, bytes int) (permit, error) {
	p := permit{min(int64(records), l.maxRecords), min(int64(bytes), l.maxBytes)}
	if err := l.records.Acquire(ctx, p.records); err != nil {
		return permit{}, err
	}
	if err := l.bytes.Acquire(ctx, p.bytes); err != nil {
		l.records.Release(p.records)
		return permit{}, err
	}
	l.metrics.inFlightRecords.Add(float64(p.records))
	l.metrics.inFlightBytes.Add(float64(p.bytes))
	return p, nil
}

func (l *limiter) release(p permit) {
	// First the metrics: they never show more than the limit.
	l.metrics.inFlightRecords.Sub(float64(p.records))
	l.metrics.inFlightBytes.Sub(float64(p.bytes))
	l.records.Release(p.records)
	l.bytes.Release(p.bytes)
}
