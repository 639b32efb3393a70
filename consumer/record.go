package consumer

import (
	"encoding/binary"
	"fmt"
	"time"

	"echosieve/pipeline"
)

// recordReader yields the records of one batch one after another, so that a batch of very many tiny records
// never stands in memory as a whole. Keys, values and header values refer to the batch's memory.
type recordReader struct {
	batch     *batch
	buf       []byte
	read      int32
	lastDelta int64
}

// next returns false after the last record. Topic and partition of the record are left to the caller.
func (r *recordReader) next() (pipeline.Record, bool, error) {
	if r.read == r.batch.count {
		if len(r.buf) != 0 {
			return pipeline.Record{}, false, r.malformed("bytes left over")
		}
		return pipeline.Record{}, false, nil
	}
	r.read++
	all := cursor{buf: r.buf}
	body := cursor{buf: all.take(all.varint())}
	if all.bad || body.buf == nil {
		return pipeline.Record{}, false, r.malformed("record length")
	}
	r.buf = all.buf

	body.take(1) // attributes of a record: none are defined
	timeDelta := body.varint()
	delta := body.varint()
	rec := pipeline.Record{Key: body.nullable(), Value: body.nullable()}
	headers := body.varint()
	// A header takes two bytes at least, so a lie about their number is found before memory is given to it.
	if headers < 0 || headers > int64(len(body.buf))/2 {
		body.bad = true
	}
	for range headers {
		if body.bad {
			break
		}
		key := body.take(body.varint())
		rec.Headers = append(rec.Headers, pipeline.Header{Key: string(key), Value: body.nullable()})
	}
	if body.bad || len(body.buf) != 0 {
		return pipeline.Record{}, false, r.malformed("record fields")
	}
	if delta <= r.lastDelta || delta > r.batch.lastOffset-r.batch.baseOffset {
		return pipeline.Record{}, false, r.malformed("record offset")
	}
	r.lastDelta = delta
	rec.Offset = r.batch.baseOffset + delta
	stamp := r.batch.baseTimestamp + timeDelta
	if r.batch.attributes&attrLogAppendTime != 0 {
		stamp = r.batch.maxTimestamp
	}
	rec.Time = time.UnixMilli(stamp).UTC()
	return rec, true, nil
}

func (r *recordReader) malformed(what string) error {
	return fmt.Errorf("%w: offset %d, record %d of %d: %s", errMalformed, r.batch.baseOffset, r.read, r.batch.count, what)
}

// aborts says whether a control batch ends its producer's transaction by taking it back.
func (b *batch) aborts(limit int) (bool, error) {
	records, err := b.records(limit)
	if err != nil {
		return false, err
	}
	rec, ok, err := records.next()
	if err != nil || !ok {
		return false, err
	}
	// The key is version and type, 16 bits each; type 0 is an abort, 1 a commit.
	return len(rec.Key) >= 4 && binary.BigEndian.Uint16(rec.Key[2:]) == 0, nil
}

// cursor reads fields from the front of buf. After the first field that does not fit, bad is set and
// everything read is zero.
type cursor struct {
	buf []byte
	bad bool
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.buf)
	if n <= 0 || c.bad {
		c.bad = true
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

// take returns the next n bytes, without room to append.
func (c *cursor) take(n int64) []byte {
	if c.bad || n < 0 || n > int64(len(c.buf)) {
		c.bad = true
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

// nullable reads a length and as many bytes; length -1 is nil.
func (c *cursor) nullable() []byte {
	n := c.varint()
	if n == -1 {
		return nil
	}
	return c.take(n)
}
