package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"echosieve/pipeline/record"

	"github.com/twmb/franz-go/pkg/kbin"
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

// records returns a reader of the batch's records, for which reserve grants the memory. The caller closes it.
// Records longer than limit bytes come without their value.
func (b *recordBatch) records(limit int, reserve Reserve) (*recordReader, error) {
	d, err := newDecoder(Codec(b.Attributes&attrCodec), b.Records)
	if err != nil {
		return nil, fmt.Errorf("record batch at offset %d: %w", b.FirstOffset, err)
	}
	r := &recordReader{batch: b, limit: int64(limit), lastDelta: -1, release: func() {}}
	if d.memory > maxDecoder {
		r.unread = d.memory
		return r, nil
	}
	if d.memory > 0 {
		if r.release, err = reserve(d.memory); err != nil {
			return nil, err
		}
	}
	if r.payload, err = d.open(); err != nil {
		r.release()
		return nil, fmt.Errorf("record batch at offset %d: %w", b.FirstOffset, err)
	}
	r.src = bufio.NewReader(r.payload)
	return r, nil
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
	if r.read == r.batch.NumRecords {
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
	var body kbin.Reader
	if r.left > r.limit {
		body.Src, oversize = r.readOversize()
	} else {
		body.Src = r.take(r.left)
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
	if r.lastDelta == r.batch.lastOffset-r.batch.FirstOffset {
		return record.Record{}, false
	}
	r.lastDelta++
	rec := record.Record{Time: time.UnixMilli(r.batch.MaxTimestamp).UTC(),
		Oversize: &record.Oversize{ValueBytes: -1, Batch: r.unread}}
	rec.Offset = r.batch.FirstOffset + r.lastDelta
	return rec, true
}

// parse returns the record that body holds.
func (r *recordReader) parse(body kbin.Reader) (rec record.Record) {
	body.Int8() // attributes of a record: none are defined
	timeDelta, delta := body.Varlong(), body.Varlong()
	rec.Key, rec.Value = nullable(&body), nullable(&body)
	headers := body.Varlong()
	// A header takes at least two bytes, so a false number of headers is found before memory is allocated for them.
	possible := headers >= 0 && headers <= int64(len(body.Src))/2
	if possible && headers > 0 {
		rec.Headers = make([]record.Header, 0, min(headers, 32))
	}
	for i := int64(0); i < headers && possible && body.Ok(); i++ {
		key := body.Span(int(body.Varlong()))
		rec.Headers = append(rec.Headers, record.Header{Key: string(key), Value: nullable(&body)})
	}
	if !possible || !body.Ok() || len(body.Src) != 0 {
		r.fail(nil, "record fields")
		return rec
	}
	if all := r.batch.lastOffset - r.batch.FirstOffset + 1; int64(r.batch.NumRecords) == all {
		// No record is missing, so each record's offset follows from its place. Brokers do not check the
		// deltas of uncompressed batches: all records may claim the batch's first offset.
		delta = int64(r.read) - 1
	}
	if delta <= r.lastDelta || delta > r.batch.lastOffset-r.batch.FirstOffset {
		r.fail(nil, "record offset")
		return rec
	}
	r.lastDelta = delta
	rec.Offset = r.batch.FirstOffset + delta
	stamp := r.batch.FirstTimestamp + timeDelta
	if r.batch.Attributes&attrLogAppendTime != 0 {
		stamp = r.batch.MaxTimestamp
	}
	rec.Time = time.UnixMilli(stamp).UTC()
	return rec
}

// nullable reads a length and as many bytes; length -1 is nil. The result has no spare capacity: appending to it
// copies.
func nullable(body *kbin.Reader) []byte {
	n := body.Varlong()
	if n == -1 {
		return nil
	}
	return body.Span(int(n))
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
	body = append(kbin.AppendVarintBytes(body, key), nullLength)
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
		r.err = fmt.Errorf("%w: offset %d, record %d of %d: %s", errMalformed, r.batch.FirstOffset, r.read,
			r.batch.NumRecords, what)
	default:
		r.err = fmt.Errorf("record batch at offset %d: decompress: %w", r.batch.FirstOffset, err)
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
