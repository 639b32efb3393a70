package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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
	errMalformed = errors.New("record batch is malformed")
)

// recordBatch is one record batch whose header was read and whose checksum is right.
type recordBatch struct {
	baseOffset    int64
	lastOffset    int64
	attributes    int16
	baseTimestamp int64
	maxTimestamp  int64
	producerID    int64
	producerEpoch int16
	count         int32
	payload       []byte // records, still compressed
}

func (b *recordBatch) control() bool       { return b.attributes&attrControl != 0 }
func (b *recordBatch) transactional() bool { return b.attributes&attrTransactional != 0 }

// parseBatch reads the first batch of buf, and returns the rest of buf after it. The batch refers to buf. ErrTruncated means that buf
// ends inside the batch.
func parseBatch(buf []byte) (*recordBatch, []byte, error) {
	if cutOff(buf) {
		return nil, nil, ErrTruncated
	}
	length := int64(int32(binary.BigEndian.Uint32(buf[8:])))
	if magic := buf[16]; magic != 2 {
		return nil, nil, fmt.Errorf("message format %d at offset %d is not supported, only 2 (Kafka 0.11 and later): rewrite the topic with a current producer", magic, int64(binary.BigEndian.Uint64(buf)))
	}
	if length < batchHeader-batchPrefix {
		return nil, nil, fmt.Errorf("%w: length %d", errMalformed, length)
	}
	raw, rest := buf[:batchPrefix+length], buf[batchPrefix+length:]
	if crc32.Checksum(raw[21:], castagnoli) != binary.BigEndian.Uint32(raw[17:]) {
		return nil, nil, errChecksum
	}
	b := &recordBatch{
		baseOffset:    int64(binary.BigEndian.Uint64(raw)),
		attributes:    int16(binary.BigEndian.Uint16(raw[21:])),
		baseTimestamp: int64(binary.BigEndian.Uint64(raw[27:])),
		maxTimestamp:  int64(binary.BigEndian.Uint64(raw[35:])),
		producerID:    int64(binary.BigEndian.Uint64(raw[43:])),
		producerEpoch: int16(binary.BigEndian.Uint16(raw[51:])),
		count:         int32(binary.BigEndian.Uint32(raw[57:])),
		payload:       raw[batchHeader:],
	}
	// The last offset stays the same if compaction removes records of the batch.
	delta := int64(int32(binary.BigEndian.Uint32(raw[23:])))
	b.lastOffset = b.baseOffset + delta
	if b.baseOffset < 0 || delta < 0 || b.lastOffset < b.baseOffset || b.count < 0 {
		return nil, nil, fmt.Errorf("%w: offset %d, last offset delta %d, %d records", errMalformed, b.baseOffset, delta, b.count)
	}
	return b, rest, nil
}

// cutOff says whether buf ends before its first batch does, or is empty.
func cutOff(buf []byte) bool {
	const known = batchPrefix + 5 // up to the byte of the format, which has the same place in all formats
	return len(buf) < known || int64(len(buf)) < batchPrefix+int64(int32(binary.BigEndian.Uint32(buf[8:])))
}

// records returns a reader of the batch's records, for which reserve grants the memory. The caller closes it. Records longer than limit
// bytes come without their value.
func (b *recordBatch) records(limit int, reserve Reserve) (*recordReader, error) {
	d, err := newDecoder(Codec(b.attributes&attrCodec), b.payload)
	if err != nil {
		return nil, fmt.Errorf("record batch at offset %d: %w", b.baseOffset, err)
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
		return nil, fmt.Errorf("record batch at offset %d: %w", b.baseOffset, err)
	}
	r.src = bufio.NewReader(r.payload)
	return r, nil
}
