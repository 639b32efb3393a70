package wire

import (
	"errors"

	"echosieve/pipeline/record"
)

// Tail yields the record batches of a fetch response in order, committed or not, with the identity of their producer. It reads the
// records only of those batches that the caller asks for. Not safe for concurrent use.
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

// Next returns the next batch, or nil at the end of the response. After an error the batches before it are good.
func (t *Tail) Next() (*TailBatch, error) {
	for len(t.buf) > 0 {
		b, rest, err := parseBatch(t.buf)
		if errors.Is(err, ErrTruncated) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		t.buf = rest
		if b.lastOffset < t.offset {
			continue
		}
		from := t.offset
		t.offset = b.lastOffset + 1
		return &TailBatch{batch: b, from: from, limit: t.limit}, nil
	}
	return nil, nil
}

// TailBatch is one record batch. It refers to the response.
type TailBatch struct {
	batch *recordBatch
	from  int64 // a batch may begin before the requested offset
	limit int
}

// Producer is the identity of the batch's producer. Its ID is NoProducerID if the producer is not idempotent.
func (b *TailBatch) Producer() Identity { return Identity{b.batch.producerID, b.batch.producerEpoch} }

// Marker says whether the batch is the marker that ends a transaction, and holds no records.
func (b *TailBatch) Marker() bool { return b.batch.control() }

// Records calls fn with each record of the batch, after reserve has granted the memory of its decompressor. Topic and Partition of the record
// are not set. It ends with the first error of fn.
func (b *TailBatch) Records(reserve Reserve, fn func(*record.Record) error) error {
	records, err := b.batch.records(b.limit, reserve)
	if err != nil {
		return err
	}
	defer records.close()
	for {
		rec, ok, err := records.next()
		if err != nil || !ok {
			return err
		}
		if rec.Offset < b.from {
			continue
		}
		if err := fn(&rec); err != nil {
			return err
		}
	}
}
