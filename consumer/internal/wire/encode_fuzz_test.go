package wire

import (
	"bytes"
	"testing"
	"time"

	"echosieve/pipeline/record"
)

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
		got, err := readAll(NewReader(&FetchResponse{records: raw}, 0, 1<<20, Unbounded))
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
