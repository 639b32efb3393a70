package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"echosieve/internal/stopping"
)

// waiting stands for the delay of a record whose verdict has not been read yet.
const waiting time.Duration = -1

// ledger accounts for the records of a run by their numbers. All times are since its start. Safe for
// concurrent use.
type ledger struct {
	start time.Time

	mu          sync.Mutex
	due, delay  []time.Duration // by record number
	arrived     int
	redelivered int // second and later verdicts of a record
	verdicts    map[string]int
	last        time.Duration // of the last first verdict
}

func newLedger() *ledger { return &ledger{start: time.Now(), verdicts: map[string]int{}} }

// publish adds the next record and returns its number.
func (l *ledger) publish(due time.Duration) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due, l.delay = append(l.due, due), append(l.delay, waiting)
	return len(l.due) - 1
}

// arrive adds a verdict. A number that was never published counts for nothing.
func (l *ledger) arrive(number int, verdict string) {
	at := time.Since(l.start)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case number < 0 || number >= len(l.due):
	case l.delay[number] != waiting:
		l.redelivered++
	default:
		l.delay[number] = max(0, at-l.due[number])
		l.verdicts[verdict]++
		l.arrived++
		l.last = at
	}
}

// counts returns how many records were published, and how many of them have a verdict.
func (l *ledger) counts() (published, arrived int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due), l.arrived
}

// drain waits for the verdicts of all records. It gives up when none has arrived for the time patience.
func (l *ledger) drain(ctx context.Context, patience time.Duration) {
	seen, since := -1, time.Now()
	for {
		published, arrived := l.counts()
		if arrived != seen {
			seen, since = arrived, time.Now()
		}
		if arrived == published || time.Since(since) > patience || stopping.Wait(ctx, drainTick) != nil {
			return
		}
	}
}

// drainTick is how often drain checks whether all verdicts have arrived.
const drainTick = 10 * time.Millisecond

// delays returns the delays of records that were due at from or later, in the order in which they were due,
// and the time from then until the last verdict. Records without a verdict are left out.
func (l *ledger) delays(from time.Duration) (delays []time.Duration, span time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, _ := slices.BinarySearch(l.due, from)
	for _, d := range l.delay[first:] {
		if d != waiting {
			delays = append(delays, d)
		}
	}
	return delays, max(0, l.last-from)
}
