package wire

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"echosieve/pipeline/record"
	"echosieve/test/host"

	"github.com/klauspost/compress/snappy"
	"github.com/segmentio/kafka-go/compress"
	"github.com/stretchr/testify/require"
)

// packings are the forms of a payload, and the memory that reading one may take beyond its records: blocks
// and windows, or the whole payload if it is one block of snappy.
var packings = []struct {
	name  string
	codec byte
	pack  func(payload []byte) []byte
	bytes func(payload int) uint64
}{
	{"none", 0, bytes.Clone, few},
	{"gzip", 1, packer(compress.Gzip), few},
	{"snappy in frames", 2, packer(compress.Snappy), few},
	{"snappy in one block", 2, func(payload []byte) []byte { return snappy.Encode(nil, payload) },
		func(payload int) uint64 { return few(0) + uint64(payload) }},
	{"lz4", 3, packer(compress.Lz4), few},
	{"zstd", 4, packer(compress.Zstd), few},
}

func few(int) uint64 { return 24 << 20 }

func packer(codec compress.Compression) func([]byte) []byte {
	return func(payload []byte) []byte {
		var b bytes.Buffer
		w := codec.Codec().NewWriter(&b)
		_, _ = w.Write(payload) // a bytes.Buffer takes all
		_ = w.Close()
		return b.Bytes()
	}
}

// packed returns a batch of the records.
func packed(records []record.Record, codec byte, pack func([]byte) []byte) []byte {
	var payload []byte
	for i, r := range records {
		payload = appendRecord(payload, &r, 0, int64(i))
	}
	return rebatch(batchOf(pack(payload), codec), func(b []byte) {
		put32(b[23:], uint32(len(records)-1))
		put32(b[57:], uint32(len(records)))
	})
}

// Some records of a batch are far larger than the limit: they come without their value and with their size,
// and the other records come whole.
func TestOversizeRecordsAreCut(t *testing.T) {
	const limit, huge = 1 << 16, 16 << 20
	large := make([]byte, huge)
	headers := []record.Header{{Key: "crawler", Value: []byte("x")}, {Key: "null"}}
	records := []record.Record{
		{Key: []byte("before"), Value: []byte("v")},
		{Key: []byte("k"), Value: large, Headers: headers},
		{Value: large, Headers: headers},
		{Key: large, Value: []byte("vv"), Headers: headers},
		{Key: large},
		{Key: []byte("k"), Value: large, Headers: []record.Header{{Key: "large", Value: large}}},
		{Key: []byte{}, Value: make([]byte, limit/2), Headers: []record.Header{{Key: "large", Value: large[:limit/2]}}},
		{Key: []byte("after"), Value: []byte("v")},
	}
	for _, p := range packings {
		t.Run(p.name, func(t *testing.T) {
			raw := packed(records, p.codec, p.pack)
			var got []record.Record
			var err error
			used := host.Allocated(func() {
				s := NewReader(&FetchResponse{records: raw}, 0, limit, unbounded)
				defer s.Close()
				got, err = readAll(s)
			})
			require.NoError(t, err)
			require.Less(t, used, p.bytes(6*huge))
			require.Len(t, got, len(records))
			for i, want := range []struct {
				key     []byte
				headers []record.Header
				value   int64
			}{
				1: {records[1].Key, headers, huge},
				2: {nil, headers, huge},
				3: {nil, nil, 2},
				4: {nil, nil, 0},
				5: {nil, nil, huge},
				6: {[]byte{}, records[6].Headers, limit / 2},
			} {
				if i == 0 {
					continue
				}
				r := got[i]
				require.EqualValues(t, i, r.Offset)
				require.Equal(t, records[i].Key == nil || want.key == nil, r.Key == nil, i)
				require.Equal(t, want.key, r.Key, i)
				require.Equal(t, want.headers, r.Headers, i)
				require.Nil(t, r.Value)
				require.Equal(t, want.value, r.Oversize.ValueBytes, i)
				require.InDelta(t, bodySize(&records[i]), r.Oversize.Bytes, maxRecordOverhead)
			}
			for _, i := range []int{0, 7} {
				require.Nil(t, got[i].Oversize)
				require.Equal(t, records[i].Key, got[i].Key)
				require.Equal(t, records[i].Value, got[i].Value)
			}
		})
	}
}

// A batch of very many records is never in memory as a whole.
func TestLargeBatchesAreReadRecordByRecord(t *testing.T) {
	const limit, n = 1 << 16, 4000
	records := make([]record.Record, n)
	for i := range records {
		records[i] = record.Record{Value: []byte(strings.Repeat("article ", 4000))}
	}
	for _, p := range packings {
		t.Run(p.name, func(t *testing.T) {
			raw := packed(records, p.codec, p.pack)
			var before, during runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s := NewReader(&FetchResponse{records: raw}, 0, limit, unbounded)
			defer s.Close()
			for i := range n {
				rec, ok, err := s.Next()
				require.NoError(t, err)
				require.True(t, ok)
				require.True(t, bytes.Equal(rec.Value, records[i].Value) && rec.Offset == int64(i))
				if i == n/2 {
					runtime.GC()
					runtime.ReadMemStats(&during)
				}
			}
			_, ok, err := s.Next()
			require.NoError(t, err)
			require.False(t, ok)
			require.Less(t, int64(during.HeapAlloc)-int64(before.HeapAlloc), int64(p.bytes(n*len(records[0].Value))))
		})
	}
}
