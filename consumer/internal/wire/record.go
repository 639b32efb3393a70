package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"echosieve/pipeline/record"
)

// recordReader yields the records of one batch one after another while it decompresses them. At most one of
// them is in memory at a time, however many records there are and however large they are. Each record has its
// own copy of its bytes.
type recordReader struct {
	batch     *recordBatch
	src       *bufio.Reader
	payload   io.ReadCloser
	release   func() // gives the memory of the decompressor back
	unread    int64  // memory in bytes that the batch would take to decompress; 0 if the batch is decompressed
	limit     int64  // longer records come without their value
	read      int32  // records read so far
	lastDelta int64  // offset of the last record read, counted from the batch's first offset

	left int64 // bytes of the current record that are not read yet
	err  error
}

// close frees the decompressor, and only then gives its memory back.
func (r *recordReader) close() {
	if r.payload != nil {
		_ = r.payload.Close()
	}
	r.payload, r.src = nil, nil
	r.release()
}

// next returns false after the last record. Topic and partition of the record are not set.
func (r *recordReader) next() (record.Record, bool, error) {
	if r.unread > 0 {
		rec, ok := r.nextUnread()
		return rec, ok, nil
	}
	if r.read == r.batch.count {
		// An error instead of a byte is no fault: brokers ignore what follows the compressed data.
		if _, err := r.src.ReadByte(); err == nil {
			r.fail(nil, "bytes left over")
		}
		return record.Record{}, false, r.err
	}
	r.read++
	r.left = binary.MaxVarintLen64
	r.left = r.varint()
	var oversize *record.Oversize
	var body fields
	if r.left > r.limit {
		body.buf, oversize = r.readOversize()
	} else {
		body.buf = r.take(r.left)
	}
	if r.err != nil {
		return record.Record{}, false, r.err
	}
	rec := r.parse(body)
	rec.Oversize = oversize
	return rec, r.err == nil, r.err
}

// nextUnread returns a record for each offset of a batch that is not decompressed. If compaction has removed
// records of the batch, it cannot be known which: their offsets come as well.
func (r *recordReader) nextUnread() (record.Record, bool) {
	if r.lastDelta == r.batch.lastOffset-r.batch.baseOffset {
		return record.Record{}, false
	}
	r.lastDelta++
	rec := record.Record{Time: time.UnixMilli(r.batch.maxTimestamp).UTC(),
		Oversize: &record.Oversize{ValueBytes: -1, Batch: r.unread}}
	rec.Offset = r.batch.baseOffset + r.lastDelta
	return rec, true
}

// parse returns the record that body holds.
func (r *recordReader) parse(body fields) (rec record.Record) {
	body.take(1) // attributes of a record: none are defined
	timeDelta := body.varint()
	delta := body.varint()
	rec.Key, rec.Value = body.nullable(), body.nullable()
	headers := body.varint()
	// A header takes at least two bytes, so a false number of headers is found before memory is allocated for them.
	if headers < 0 || headers > int64(len(body.buf))/2 {
		body.bad = true
	}
	if !body.bad && headers > 0 {
		rec.Headers = make([]record.Header, 0, min(headers, 32))
	}
	for range headers {
		if body.bad {
			break
		}
		key := body.take(body.varint())
		rec.Headers = append(rec.Headers, record.Header{Key: string(key), Value: body.nullable()})
	}
	if body.bad || len(body.buf) != 0 {
		r.fail(nil, "record fields")
		return rec
	}
	if all := r.batch.lastOffset - r.batch.baseOffset + 1; int64(r.batch.count) == all {
		// No record is missing, so each record's offset follows from its place. Brokers do not check the
		// deltas of uncompressed batches: all records may claim the batch's first offset.
		delta = int64(r.read) - 1
	}
	if delta <= r.lastDelta || delta > r.batch.lastOffset-r.batch.baseOffset {
		r.fail(nil, "record offset")
		return rec
	}
	r.lastDelta = delta
	rec.Offset = r.batch.baseOffset + delta
	stamp := r.batch.baseTimestamp + timeDelta
	if r.batch.attributes&attrLogAppendTime != 0 {
		stamp = r.batch.maxTimestamp
	}
	rec.Time = time.UnixMilli(stamp).UTC()
	return rec
}

// readOversize reads a record that is longer than the limit. It skips the value and, if key and headers alone
// exceed the limit, key and headers as well. It returns the record's fields with null in place of the skipped
// fields.
func (r *recordReader) readOversize() ([]byte, *record.Oversize) {
	oversize := &record.Oversize{Bytes: r.left}
	body := r.take(1)
	body = binary.AppendVarint(body, r.varint()) // time
	body = binary.AppendVarint(body, r.varint()) // offset
	key, keyLength := []byte(nil), r.varint()
	if keyLength > r.limit {
		r.skip(keyLength)
	} else if keyLength != -1 {
		key = r.take(keyLength)
	}
	if n := r.varint(); n != -1 {
		oversize.ValueBytes = n
		r.skip(n)
	}
	if r.err != nil {
		return nil, nil
	}
	if keyLength+r.left > r.limit {
		r.skip(r.left)
		return append(body, nullLength, nullLength, 0), oversize
	}
	body = append(appendNullable(body, key), nullLength)
	return append(body, r.take(r.left)...), oversize
}

// nullLength is -1 as a varint.
const nullLength = 1

func (r *recordReader) varint() int64 {
	head, err := r.src.Peek(binary.MaxVarintLen64)
	v, n := binary.Varint(head)
	if n <= 0 {
		r.fail(err, "length")
		return 0
	}
	r.skip(int64(n))
	return v
}

// take returns a copy of the next n bytes.
func (r *recordReader) take(n int64) []byte {
	if !r.fits(n) {
		return nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.src, b); err != nil {
		r.fail(err, "too short")
		return nil
	}
	return b
}

func (r *recordReader) skip(n int64) {
	if !r.fits(n) {
		return
	}
	if _, err := r.src.Discard(int(n)); err != nil {
		r.fail(err, "too short")
	}
}

// fits subtracts n from the bytes that are left of the record. It fails if there are fewer.
func (r *recordReader) fits(n int64) bool {
	if n < 0 || n > r.left {
		r.fail(nil, "length")
	}
	r.left -= n
	return r.err == nil
}

// fail stores the first error. An error of the decompressor is stored as such, except the end of its data:
// then the batch is malformed.
func (r *recordReader) fail(err error, what string) {
	switch {
	case r.err != nil:
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.err = fmt.Errorf("%w: offset %d, record %d of %d: %s", errMalformed, r.batch.baseOffset, r.read,
			r.batch.count, what)
	default:
		r.err = fmt.Errorf("record batch at offset %d: decompress: %w", r.batch.baseOffset, err)
	}
}

// aborts says whether a control batch ends its producer's transaction with an abort, not with a commit.
func (b *recordBatch) aborts(limit int, reserve Reserve) (bool, error) {
	records, err := b.records(limit, reserve)
	if err != nil {
		return false, err
	}
	defer records.close()
	rec, ok, err := records.next()
	if err != nil || !ok {
		return false, err
	}
	// The key is version and type, 16 bits each; type 0 is an abort, 1 a commit.
	return len(rec.Key) >= 4 && binary.BigEndian.Uint16(rec.Key[2:]) == 0, nil
}

// fields reads the fields of a record from the front of buf. After the first field that does
// not fit, bad is set and every field read is zero.
type fields struct {
	buf []byte
	bad bool
}

func (f *fields) varint() int64 {
	v, n := binary.Varint(f.buf)
	if n <= 0 || f.bad {
		f.bad = true
		return 0
	}
	f.buf = f.buf[n:]
	return v
}

// take returns the next n bytes. The result has no spare capacity: appending to it copies.
func (f *fields) take(n int64) []byte {
	if f.bad || n < 0 || n > int64(len(f.buf)) {
		f.bad = true
		return nil
	}
	b := f.buf[:n:n]
	f.buf = f.buf[n:]
	return b
}

// nullable reads a length and as many bytes; length -1 is nil.
func (f *fields) nullable() []byte {
	n := f.varint()
	if n == -1 {
		return nil
	}
	return f.take(n)
}
