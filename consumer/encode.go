package consumer

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"time"

	"echosieve/pipeline"
)

// outRecord is a record as it will be published. Nil and empty keys, values and header values differ.
type outRecord struct {
	key, value []byte
	headers    []pipeline.Header
	time       time.Time // millisecond resolution; written as it is, even at or before 1970
}

// maxRecordOverhead bounds the varints of a record's length, attributes, timestamp and offset.
const maxRecordOverhead = 5 + 1 + 10 + 5

// encodedSize is an upper bound of the bytes the record takes in an uncompressed batch.
func (r *outRecord) encodedSize() int { return maxRecordOverhead + r.bodySize() }

// bodySize is the exact size of key, value and headers with their lengths.
func (r *outRecord) bodySize() int {
	n := nullableSize(r.key) + nullableSize(r.value) + varintSize(int64(len(r.headers)))
	for _, h := range r.headers {
		n += varintSize(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return n
}

// encodeBatch returns one record batch, message format 2, without producer id and sequence number: a writer adds these. records is not empty.
func encodeBatch(records []outRecord, codec int16) ([]byte, error) {
	size := 0
	for i := range records {
		size += records[i].encodedSize()
	}
	b := make([]byte, batchHeader, batchHeader+size)
	base := records[0].time.UnixMilli()
	newest := base
	for i := range records {
		stamp := records[i].time.UnixMilli()
		newest = max(newest, stamp)
		b = records[i].append(b, stamp-base, int64(i))
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
	for i := 43; i < 57; i++ {
		b[i] = 0xff // no producer id, epoch, sequence
	}
	binary.BigEndian.PutUint32(b[57:], uint32(len(records)))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b, nil
}

func (r *outRecord) append(b []byte, timeDelta, offsetDelta int64) []byte {
	b = binary.AppendVarint(b, int64(1+varintSize(timeDelta)+varintSize(offsetDelta)+r.bodySize()))
	b = append(b, 0) // attributes
	b = binary.AppendVarint(b, timeDelta)
	b = binary.AppendVarint(b, offsetDelta)
	b = appendNullable(b, r.key)
	b = appendNullable(b, r.value)
	b = binary.AppendVarint(b, int64(len(r.headers)))
	for _, h := range r.headers {
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
