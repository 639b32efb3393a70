package wire

import (
	"cmp"
	"errors"
	"slices"

	"echosieve/pipeline/record"
)

// Reader yields the committed records of a fetch response in order. It passes over transaction markers,
// records of aborted transactions and offsets whose records compaction has removed. Not safe for concurrent
// use.
type Reader struct {
	offset int64 // the next offset wanted; only grows

	buf      []byte
	limit    int
	reserve  Reserve              // asked by Next
	pending  []abortedTransaction // by first offset; only ranges that are not reached yet
	aborting map[int64]struct{}   // producers inside an aborted transaction
	records  *recordReader

	aborted, control int // records skipped
}

// NewReader reads the response to a fetch at offset. Records longer than limit bytes come without their
// value. Next asks reserve for the memory of each decompressor. The caller closes the reader.
func NewReader(res *FetchResponse, offset int64, limit int, reserve Reserve) *Reader {
	// Brokers need not send the ranges in order. Redpanda has put newer before older: unsorted, a record of
	// an aborted transaction would pass as committed.
	slices.SortFunc(res.aborted, func(a, b abortedTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return &Reader{offset: offset, buf: res.records, limit: limit, reserve: reserve, pending: res.aborted,
		aborting: map[int64]struct{}{}}
}

// Offset returns the offset to fetch next: the offset after all records, markers and gaps that were passed so far.
func (r *Reader) Offset() int64 { return r.offset }

// Skipped returns how many records of aborted transactions and how many transaction markers were passed over.
func (r *Reader) Skipped() (aborted, control int) { return r.aborted, r.control }

// More says whether the response holds a batch, or the rest of one, that was not read yet. A batch that is
// cut off at the end of the response does not count.
func (r *Reader) More() bool { return r.records != nil || !cutOff(r.buf) }

// Close frees the decompressor of the current batch.
func (r *Reader) Close() {
	if r.records != nil {
		r.records.close()
		r.records = nil
	}
}

// Next returns the next record, or false at the end of the response, or before a batch for which reserve
// returns ErrNoMemory. More tells the two apart. Topic and Partition of the record are not set. After an
// error the records before it are good, and Offset is where to go on.
func (r *Reader) Next() (record.Record, bool, error) {
	for {
		if err := r.Open(r.reserve); r.records == nil {
			if errors.Is(err, ErrNoMemory) {
				err = nil
			}
			return record.Record{}, false, err
		}
		rec, ok, err := r.records.next()
		switch {
		case err != nil:
			return record.Record{}, false, err
		case !ok:
			// Compaction may have taken the last records: their offsets are passed all the same.
			r.offset = r.records.batch.lastOffset + 1
			r.Close()
		case rec.Offset >= r.offset: // a batch may begin before the requested offset
			r.offset = rec.Offset + 1
			return rec, true, nil
		}
	}
}

// Open steps to the next batch that has records, unless a batch is open. It asks this reserve, instead of the
// reader's, for the memory of the batch's decompressor. After an error of reserve the batch is still the next
// one.
func (r *Reader) Open(reserve Reserve) error {
	for r.records == nil && len(r.buf) > 0 {
		b, rest, err := parseBatch(r.buf)
		switch {
		case err != nil:
			return err
		case b != nil && b.lastOffset >= r.offset:
			skip, err := r.skip(b, reserve)
			if err == nil && !skip {
				r.records, err = b.records(r.limit, reserve)
			}
			switch {
			case err != nil:
				return err
			case skip:
				r.offset = b.lastOffset + 1
			}
		}
		r.buf = rest
	}
	return nil
}

// skip says whether the batch holds transaction markers or records of an aborted transaction.
func (r *Reader) skip(b *recordBatch, reserve Reserve) (bool, error) {
	for len(r.pending) > 0 && r.pending[0].FirstOffset <= b.lastOffset {
		r.aborting[r.pending[0].ProducerID] = struct{}{}
		r.pending = r.pending[1:]
	}
	if b.control() {
		aborts, err := b.aborts(r.limit, reserve)
		if err != nil {
			return false, err
		}
		if aborts {
			delete(r.aborting, b.ProducerID)
		}
		r.control += int(b.NumRecords)
		return true, nil
	}
	if _, ok := r.aborting[b.ProducerID]; ok && b.transactional() {
		r.aborted += int(b.NumRecords)
		return true, nil
	}
	return false, nil
}

// Tail yields the record batches of a fetch response in order, committed or not, with the identity of their
// producer. It reads the records only of those batches that the caller asks for. Not safe for concurrent use.
type Tail struct {
	offset int64 // the next offset wanted; only grows
	buf    []byte
	limit  int
}

// NewTail reads the response to a fetch at offset. Records longer than limit bytes come without their value.
func NewTail(res *FetchResponse, offset int64, limit int) *Tail {
	return &Tail{offset: offset, buf: res.records, limit: limit}
}

// Offset returns the offset to fetch next: the offset after all batches that were passed so far.
func (t *Tail) Offset() int64 { return t.offset }

// TailBatch is one record batch. It refers to the response.
type TailBatch struct {
	*recordBatch
	// Producer has NoProducerID if the producer is not idempotent.
	Producer Identity
	from     int64 // a batch may begin before the requested offset
	limit    int
}

// Next returns the next batch, or nil at the end of the response. After an error the batches before it are good.
func (t *Tail) Next() (*TailBatch, error) {
	for {
		b, rest, err := parseBatch(t.buf)
		if b == nil {
			return nil, err
		}
		t.buf = rest
		if from := t.offset; b.lastOffset >= from {
			t.offset = b.lastOffset + 1
			return &TailBatch{b, Identity{b.ProducerID, b.ProducerEpoch}, from, t.limit}, nil
		}
	}
}

// Marker says whether the batch is the marker that ends a transaction, and holds no records.
func (b *TailBatch) Marker() bool { return b.control() }

// Appended says that the broker stamped the records when it appended them (LogAppendTime).
func (b *TailBatch) Appended() bool { return b.Attributes&attrLogAppendTime != 0 }

// Records calls fn with each record of the batch, after reserve has granted the memory of its decompressor.
// Topic and Partition of the record are not set. It ends with the first error of fn.
func (b *TailBatch) Records(reserve Reserve, fn func(*record.Record) error) error {
	records, err := b.records(b.limit, reserve)
	if err != nil {
		return err
	}
	defer records.close()
	for {
		rec, ok, err := records.next()
		if err == nil && ok && rec.Offset >= b.from {
			err = fn(&rec)
		}
		if err != nil || !ok {
			return err
		}
	}
}
