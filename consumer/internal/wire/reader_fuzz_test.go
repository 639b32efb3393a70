package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

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

// FuzzRoundTrip publishes arbitrary keys, values, headers and timestamps and reads them back, with every codec.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("key"), []byte("value"), "header", []byte("x"), int64(1_700_000_000_000), int64(0), uint8(1))
	f.Add([]byte(nil), []byte{}, "", []byte(nil), int64(-1), int64(1)<<62, uint8(4))
	f.Add([]byte("\xff\x00"), bytes.Repeat([]byte("a"), 5000), "echosieve-verdict", []byte{}, int64(-1)<<62,
		int64(1)<<62, uint8(3))
	f.Fuzz(func(t *testing.T, key, value []byte, name string, headerValue []byte, at1, at2 int64, codec uint8) {
		records := []record.Record{
			{Key: key, Value: value, Headers: []record.Header{{Key: name, Value: headerValue}},
				Time: time.UnixMilli(at1)},
			{Key: nil, Value: nil, Time: time.UnixMilli(at2)},
		}
		raw, err := EncodeBatch(records, Codec(int(codec)%len(codecs)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(NewReader(&FetchResponse{records: raw}, 0, 1<<20, unbounded))
		if err != nil || len(got) != 2 {
			t.Fatalf("%d records, %v", len(got), err)
		}
		a := got[0]
		if !same(a.Key, key) || !same(a.Value, value) || len(a.Headers) != 1 || a.Headers[0].Key != name ||
			!same(a.Headers[0].Value, headerValue) {
			t.Fatalf("%+v became %+v", records[0], a)
		}
		if a.Time.UnixMilli() != at1 || got[1].Time.UnixMilli() != at2 || got[1].Value != nil || got[1].Key != nil {
			t.Fatalf("times %d, %d became %v, %v", at1, at2, a.Time, got[1].Time)
		}
	})
}

func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
