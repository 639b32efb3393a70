package learning

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
)

// maxPending bounds the rows that wait until they are published. Others are dropped: what is still repeated is learnt
// again.
const maxPending = 1000

// book is what a process knows of the topic, without the means to reach it. Safe for concurrent use.
type book struct {
	rows   *learnt.Rows
	writer string        // this process, from start to end
	window time.Duration // of the index
	below  atomic.Int64  // records with an earlier timestamp, in milliseconds, may be decided

	mu      sync.Mutex
	until   map[uint64]int64      // the end of a sentence's latest row in milliseconds, by idOf
	pending map[uint64]learnt.Row // to be published, by idOf
	over    map[string]bool       // keys of rows that have been over for a window
	number  int                   // of the last row that was published
}

func newBook(rows *learnt.Rows, writer string, window time.Duration) *book {
	b := &book{rows: rows, writer: writer, window: window}
	b.clear()
	return b
}

// clear forgets what was read, and what waits: the topic is another one. No record may be decided until it is read.
func (b *book) clear() {
	b.below.Store(0)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until, b.pending, b.over = map[uint64]int64{}, map[uint64]learnt.Row{}, map[string]bool{}
	b.rows.Clear()
}

// take reads a record. appended says that its timestamp is the broker's. It returns false if the record counts for
// nothing.
func (b *book) take(rec *record.Record, appended bool, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rec.Value == nil {
		delete(b.over, string(rec.Key))
		return true
	}
	r, ok := RowOf(rec)
	switch {
	case !ok, !appended:
		return false
	case r.End.Add(b.window).Before(now):
		b.over[string(rec.Key)] = true
		return true
	}
	id := idOf(&r)
	b.until[id] = max(b.until[id], r.End.UnixMilli())
	b.rows.Add(r)
	return true
}

// confirm says that the topic was read to the end that it had at a time of this process' clock, or later.
func (b *book) confirm(at time.Time) { b.below.Store(horizon(at).UnixMilli()) }

// may says whether no row that is appended later can begin at or before a record's timestamp.
func (b *book) may(timestamp time.Time) bool { return timestamp.UnixMilli() < b.below.Load() }

// learn keeps a row until it is published. It returns false if there is no room for it.
func (b *book) learn(r *learnt.Row, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.wants(r, now) {
		return true
	}
	if len(b.pending) >= maxPending || len(r.Publisher) > maxPublisher {
		return false
	}
	b.pending[idOf(r)] = *r
	return true
}

// wants says whether a row is to be published: none of the sentence counts beyond the time of renewal.
func (b *book) wants(r *learnt.Row, now time.Time) bool {
	return b.until[idOf(r)] < now.Add(renewal).UnixMilli()
}

// next returns the records to publish, at most so many. The topic must have been read to its end since the last of
// them was published. done is called with their error: those that failed come again, under the next numbers.
func (b *book) next(most int, now time.Time) (records []record.Record, done func(error), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.until, func(_ uint64, end int64) bool { return end < now.UnixMilli() })
	maps.DeleteFunc(b.pending, func(_ uint64, r learnt.Row) bool { return !b.wants(&r, now) })
	var ids []uint64
	for id, r := range b.pending {
		if len(records) == most {
			break
		}
		b.number++
		rec, err := recordOf(&r, keyOf(&r, b.writer, b.number))
		if err != nil {
			return nil, nil, err
		}
		records, ids = append(records, rec), append(ids, id)
	}
	var keys []string
	for key := range b.over {
		if len(records) == most {
			break
		}
		records, keys = append(records, record.Record{Key: []byte(key), Time: now}), append(keys, key)
	}
	return records, func(err error) {
		if err != nil {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, id := range ids {
			delete(b.pending, id)
		}
		for _, key := range keys {
			delete(b.over, key)
		}
	}, nil
}
