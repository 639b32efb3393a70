package wire

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"echosieve/pipeline/record"
)

// FuzzReader reads batches with correct checksums and arbitrary contents: no panic, offsets grow, no record
// is larger than the limit.
func FuzzReader(f *testing.F) {
	for codec := range codecs {
		raw, err := EncodeBatch(sample(10), Codec(codec))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[21:], int64(0), int64(-1))
		f.Add(raw[21:], int64(3), int64(-1))
	}
	large, err := EncodeBatch(
		[]record.Record{{Key: []byte("k"), Value: make([]byte, 2000), Headers: []record.Header{{Key: "h"}}}}, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(large[21:], int64(0), int64(-1))
	f.Add(batchOf(zstdFrameTooLarge(), 4)[21:], int64(0), int64(-1))
	f.Fuzz(func(t *testing.T, tail []byte, offset, aborted int64) {
		raw := append(make([]byte, 21), tail...)
		binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-batchPrefix))
		raw[16] = 2
		binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(tail, castagnoli))
		offset = max(offset, 0)
		const limit = 1 << 10
		s := NewReader(&FetchResponse{records: raw, aborted: []abortedTransaction{{ProducerID: aborted}}}, offset, limit,
			unbounded)
		defer s.Close()
		last := offset - 1
		// a batch that is too large to decompress gives a record for each of up to 2^31 offsets
		for unread := 0; unread < 1<<10; {
			rec, ok, err := s.Next()
			if err != nil || !ok {
				break
			}
			if rec.Offset <= last {
				t.Fatalf("offset %d after %d", rec.Offset, last)
			}
			last = rec.Offset
			if n := rec.Size(); n > limit {
				t.Fatalf("record of %d bytes", n)
			}
			if o := rec.Oversize; o != nil {
				if !plausible(&rec, limit) {
					t.Fatalf("record of %d bytes, %+v", rec.Size(), o)
				}
				if o.Batch > 0 {
					unread++
				}
			}
		}
		if s.offset <= last {
			t.Fatalf("next offset %d after record %d", s.offset, last)
		}
	})
}

// plausible says whether a record without its value is longer than the limit, or comes from a batch that was
// not decompressed.
func plausible(rec *record.Record, limit int64) bool {
	o := rec.Oversize
	if o.Batch > 0 {
		return rec.Size() == 0 && *o == record.Oversize{ValueBytes: -1, Batch: o.Batch} && o.Batch > maxDecoder
	}
	return rec.Value == nil && o.Bytes > limit && o.ValueBytes <= o.Bytes
}
