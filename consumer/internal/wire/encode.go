package wire

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"echosieve/pipeline/record"
)

// maxRecordOverhead bounds the bytes of a record's length, attributes, timestamp and offset.
const maxRecordOverhead = 5 + 1 + 10 + 5

// encodedSize is an upper bound of the bytes the record takes in an uncompressed batch.
func encodedSize(r *record.Record) int { return maxRecordOverhead + bodySize(r) }

// bodySize is the exact size of key, value and headers with their lengths.
func bodySize(r *record.Record) int {
	n := nullableSize(r.Key) + nullableSize(r.Value) + varintSize(int64(len(r.Headers)))
	for _, h := range r.Headers {
		n += varintSize(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return n
}

// EncodeBatch returns the records, of which there is at least one, as one record batch of message format 2, without producer id
// and sequence number: SetSequence adds these. Key, Value, Headers and Time of the records are written as they are: nil and empty
// differ, and Time has millisecond resolution and may lie at or before 1970. The other fields are ignored.
func EncodeBatch(records []record.Record, codec Codec) ([]byte, error) {
	size := 0
	for i := range records {
		size += encodedSize(&records[i])
	}
	b := make([]byte, batchHeader, batchHeader+size)
	base := records[0].Time.UnixMilli()
	newest := base
	for i := range records {
		stamp := records[i].Time.UnixMilli()
		newest = max(newest, stamp)
		b = appendRecord(b, &records[i], stamp-base, int64(i))
	}
	payload, codec, err := compressPayload(codec, b[batchHeader:])
	if err != nil {
		return nil, err
	}
	if codec != 0 {
		b = append(make([]byte, batchHeader, batchHeader+len(payload)), payload...)
	}

	binary.BigEndian.PutUint32(b[8:], uint32(batchHeader-batchPrefix+len(payload)))
	binary.BigEndian.PutUint32(b[12:], ^uint32(0)) // leader epoch: the broker sets it
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], uint16(codec))
	binary.BigEndian.PutUint32(b[23:], uint32(len(records)-1))
	binary.BigEndian.PutUint64(b[27:], uint64(base))
	binary.BigEndian.PutUint64(b[35:], uint64(newest))
	binary.BigEndian.PutUint32(b[57:], uint32(len(records)))
	SetSequence(b, NoProducerID, -1, -1) // writes the checksum as well
	return b, nil
}

// SetSequence writes producer id, epoch and the sequence number of the first record into an encoded batch. With NoProducerID
// the batch carries none.
func SetSequence(batch []byte, id int64, epoch int16, sequence int32) {
	if id == NoProducerID {
		epoch, sequence = -1, -1
	}
	binary.BigEndian.PutUint64(batch[43:], uint64(id))
	binary.BigEndian.PutUint16(batch[51:], uint16(epoch))
	binary.BigEndian.PutUint32(batch[53:], uint32(sequence))
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
}

// Split cuts records into runs whose uncompressed batch has at most limit bytes. A record that alone exceeds the limit is a
// run by itself: the broker decides whether it takes that record.
func Split(records []record.Record, limit int) func(yield func([]record.Record) bool) {
	return func(yield func([]record.Record) bool) {
		start, size := 0, batchHeader
		for i := range records {
			n := encodedSize(&records[i])
			if i > start && size+n > limit {
				if !yield(records[start:i]) {
					return
				}
				start, size = i, batchHeader
			}
			size += n
		}
		if start < len(records) {
			yield(records[start:])
		}
	}
}

func appendRecord(b []byte, r *record.Record, timeDelta, offsetDelta int64) []byte {
	b = binary.AppendVarint(b, int64(1+varintSize(timeDelta)+varintSize(offsetDelta)+bodySize(r)))
	b = append(b, 0) // attributes
	b = binary.AppendVarint(b, timeDelta)
	b = binary.AppendVarint(b, offsetDelta)
	b = appendNullable(b, r.Key)
	b = appendNullable(b, r.Value)
	b = binary.AppendVarint(b, int64(len(r.Headers)))
	for _, h := range r.Headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendNullable(b, h.Value)
	}
	return b
}

func appendNullable(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	b = binary.AppendVarint(b, int64(len(v)))
	return append(b, v...)
}

func nullableSize(v []byte) int {
	if v == nil {
		return varintSize(-1)
	}
	return varintSize(int64(len(v))) + len(v)
}

func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}
