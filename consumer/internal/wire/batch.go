package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"echosieve/pipeline/record"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Layout of a record batch, message format 2.
const (
	batchPrefix = 12 // base offset and length: the length does not count them
	batchHeader = 61 // all fields before the records
)

// Bits of a batch's attributes.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	// ErrTruncated says that a response ends inside a batch. That is usual for its last batch, never for its first.
	ErrTruncated = errors.New("record batch is cut off")
	errChecksum  = errors.New("record batch has a wrong checksum: damaged on disk or on the way")
)

// recordBatch is one record batch whose header was read and whose checksum is right. Its records are still compressed.
type recordBatch struct {
	kmsg.RecordBatch
	lastOffset int64
}

func (b *recordBatch) control() bool       { return b.Attributes&attrControl != 0 }
func (b *recordBatch) transactional() bool { return b.Attributes&attrTransactional != 0 }

// NoProducerID stands in batches of a producer that is not idempotent.
const NoProducerID = -1

// Identity is what a batch says of its producer: an id that the cluster has given out, and the epoch of this
// id. A partition's leader refuses batches of an older epoch than the newest that it has seen.
type Identity struct {
	ID    int64
	Epoch int16
}

// parseBatch reads the first batch of buf, and returns the rest of buf after it. The batch refers to buf.
// It is nil, without an error, if buf ends inside the batch.
func parseBatch(buf []byte) (*recordBatch, []byte, error) {
	if cutOff(buf) {
		return nil, nil, nil
	}
	length := int64(int32(binary.BigEndian.Uint32(buf[8:])))
	if magic := buf[16]; magic != 2 {
		return nil, nil, fmt.Errorf(
			"message format %d at offset %d is not supported, only 2 (Kafka 0.11 and later): rewrite the topic "+
				"with a current producer", magic, int64(binary.BigEndian.Uint64(buf)))
	}
	if length < batchHeader-batchPrefix {
		return nil, nil, fmt.Errorf("%w: length %d", errMalformed, length)
	}
	raw, rest := buf[:batchPrefix+length], buf[batchPrefix+length:]
	b := &recordBatch{}
	_ = b.ReadFrom(raw) // it has the length that it says
	if crc32.Checksum(raw[21:], castagnoli) != uint32(b.CRC) {
		return nil, nil, errChecksum
	}
	// The last offset stays the same if compaction removes records of the batch.
	b.lastOffset = b.FirstOffset + int64(b.LastOffsetDelta)
	if b.FirstOffset < 0 || b.LastOffsetDelta < 0 || b.lastOffset < b.FirstOffset || b.NumRecords < 0 {
		return nil, nil, fmt.Errorf("%w: offset %d, last offset delta %d, %d records", errMalformed, b.FirstOffset,
			b.LastOffsetDelta, b.NumRecords)
	}
	return b, rest, nil
}

// cutOff says whether buf ends before its first batch does, or is empty.
func cutOff(buf []byte) bool {
	const known = batchPrefix + 5 // up to the byte of the format, which has the same place in all formats
	return len(buf) < known || int64(len(buf)) < batchPrefix+int64(int32(binary.BigEndian.Uint32(buf[8:])))
}

// maxRecordOverhead bounds the bytes of a record's length, attributes, timestamp and offset.
const maxRecordOverhead = 5 + 1 + 10 + 5

// encodedSize is an upper bound of the bytes the record takes in an uncompressed batch.
func encodedSize(r *record.Record) int { return maxRecordOverhead + bodySize(r) }

// bodySize is the exact size of key, value and headers with their lengths.
func bodySize(r *record.Record) int {
	n := nullableSize(r.Key) + nullableSize(r.Value) + kbin.VarintLen(int32(len(r.Headers)))
	for _, h := range r.Headers {
		n += kbin.VarintLen(int32(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return n
}

// EncodeBatch returns the records, of which there is at least one, as one record batch of message format 2,
// without producer id and sequence number: SetSequence adds these. Key, Value, Headers and Time of the
// records are written as they are: nil and empty differ, and Time has millisecond resolution and may lie at
// or before 1970. The other fields are ignored.
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
	b, codec, err := compressPayload(codec, b, batchHeader)
	if err != nil {
		return nil, err
	}
	header := kmsg.RecordBatch{
		Length: int32(len(b) - batchPrefix), PartitionLeaderEpoch: -1, Magic: 2, Attributes: int16(codec),
		LastOffsetDelta: int32(len(records) - 1), FirstTimestamp: base, MaxTimestamp: newest,
		NumRecords: int32(len(records)), // the broker sets the leader's epoch
	}
	header.AppendTo(b[:0])
	SetSequence(b, NoProducerID, -1, -1) // writes the checksum as well
	return b, nil
}

// SetSequence writes producer id, epoch and the sequence number of the first record into an encoded batch.
// With NoProducerID the batch carries none.
func SetSequence(batch []byte, id int64, epoch int16, sequence int32) {
	if id == NoProducerID {
		epoch, sequence = -1, -1
	}
	binary.BigEndian.PutUint64(batch[43:], uint64(id))
	binary.BigEndian.PutUint16(batch[51:], uint16(epoch))
	binary.BigEndian.PutUint32(batch[53:], uint32(sequence))
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
}

// Split cuts records into runs whose uncompressed batch has at most limit bytes. A record that alone exceeds
// the limit is a run by itself: the broker decides whether it takes that record.
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
	b = binary.AppendVarint(b, int64(1+kbin.VarlongLen(timeDelta)+kbin.VarlongLen(offsetDelta)+bodySize(r)))
	b = append(b, 0) // attributes
	b = binary.AppendVarint(b, timeDelta)
	b = binary.AppendVarint(b, offsetDelta)
	b = kbin.AppendVarintBytes(b, r.Key)
	b = kbin.AppendVarintBytes(b, r.Value)
	b = binary.AppendVarint(b, int64(len(r.Headers)))
	for _, h := range r.Headers {
		b = kbin.AppendVarintString(b, h.Key)
		b = kbin.AppendVarintBytes(b, h.Value)
	}
	return b
}

// nullableSize is the size of bytes, or of null, with their length.
func nullableSize(v []byte) int {
	if v == nil {
		return 1
	}
	return kbin.VarintLen(int32(len(v))) + len(v)
}
