package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/record"
	"echosieve/test/kafkaserver"
)

// readAll reads all records.
func readAll(s *Reader) ([]record.Record, error) {
	var recs []record.Record
	for {
		rec, ok, err := s.Next()
		if err != nil || !ok {
			return recs, err
		}
		recs = append(recs, rec)
	}
}

// unbounded reserves memory without a bound.
func unbounded(int64) (release func(), err error) { return func() {}, nil }

func sample(n int) []record.Record {
	recs := make([]record.Record, n)
	for i := range recs {
		recs[i] = record.Record{Key: fmt.Appendf(nil, "k%d", i), Value: []byte(strings.Repeat("text ", i%50)),
			Time: time.UnixMilli(int64(1000 + i*i))}
	}
	recs[0].Key, recs[0].Value = nil, nil
	recs[0].Headers = []record.Header{{Key: "h", Value: nil}, {Key: "", Value: []byte{}}, {Key: "\xff", Value: []byte{0}}}
	for i, at := range []int64{0, -1, 1 << 42} {
		if i+1 < n {
			recs[i+1].Time = time.UnixMilli(at)
		}
	}
	return recs
}

func encode(t testing.TB, recs []record.Record, codec Codec) []byte {
	t.Helper()
	raw, err := EncodeBatch(recs, codec)
	require.NoError(t, err)
	return raw
}

// fakeBroker starts a broker with the topic "articles", of one partition.
func fakeBroker(t *testing.T) (c *Client, addrs []string) {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "articles"))
	require.NoError(t, err)
	t.Cleanup(k.Close)
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{Transport: transport, Addr: kafka.TCP(k.ListenAddrs()...), ClientID: "test"}, k.ListenAddrs()
}

// compressions are the codecs of another client, in the order of codecs.
var compressions = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
}

// Another client reads what we publish with each codec, and we read what it publishes.
func TestBatchesOfAnotherClientAreRead(t *testing.T) {
	for codec, compression := range compressions {
		t.Run(codecs[codec], func(t *testing.T) {
			c, addrs := fakeBroker(t)
			cl := kafkaserver.Client(t, addrs[0], kgo.RecordPartitioner(kgo.ManualPartitioner()),
				kgo.ProducerBatchCompression(compression), kgo.ProducerLinger(300*time.Millisecond),
				kgo.ConsumeTopics("articles"))
			ours := sample(500)
			_, err := c.Produce(t.Context(), "articles", 0, encode(t, ours, Codec(codec)))
			require.NoError(t, err)
			for next := 0; next < len(ours); {
				for _, r := range cl.PollFetches(t.Context()).Records() {
					require.Equal(t, ours[next].Key, r.Key)
					require.Equal(t, ours[next].Value, r.Value)
					require.Equal(t, ours[next].Time.UnixMilli(), r.Timestamp.UnixMilli())
					for i, h := range ours[next].Headers {
						require.Equal(t, kgo.RecordHeader{Key: h.Key, Value: h.Value}, r.Headers[i])
					}
					next++
				}
			}
			var in []*kgo.Record
			for i, r := range ours {
				rec := &kgo.Record{Topic: "articles", Key: r.Key, Value: r.Value, Timestamp: r.Time,
					Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}, {Key: "nil"},
						{Key: "empty", Value: []byte{}}}}
				in = append(in, rec)
			}
			require.NoError(t, cl.ProduceSync(t.Context(), in...).FirstErr())
			res, err := c.Fetch(t.Context(), FetchRequest{
				TopicPartition: TopicPartition{Topic: "articles"}, Offset: int64(len(ours)), MaxWait: time.Second,
				MaxBytes: 1 << 20, MaxResponse: 64 << 20,
				Reserve: func(int64) error { return nil },
			})
			require.NoError(t, err)
			if codec > 0 {
				b, _, err := parseBatch(res.records)
				require.NoError(t, err)
				require.EqualValues(t, codec, b.Attributes&attrCodec, "the batch has the codec of the test case")
			}
			got, err := readAll(NewReader(res, int64(len(ours)), 1<<20, unbounded))
			require.NoError(t, err)
			require.Len(t, got, len(in))
			for i := range in {
				require.Equal(t, in[i].Key, got[i].Key)
				require.Equal(t, in[i].Value, got[i].Value)
				require.Equal(t, in[i].Timestamp.UnixMilli(), got[i].Time.UnixMilli())
				require.Len(t, got[i].Headers, 3)
				for j, h := range in[i].Headers {
					require.Equal(t, h.Value, got[i].Headers[j].Value)
				}
			}
		})
	}
}

// rebatch changes a copy of a batch and corrects its checksum.
func rebatch(raw []byte, change func(b []byte)) []byte {
	b := changed(raw, change)
	put32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

func at(raw []byte, offset int64) []byte {
	return rebatch(raw, func(b []byte) { binary.BigEndian.PutUint64(b, uint64(offset)) })
}

func transactional(raw []byte, producer uint64) []byte {
	return rebatch(raw, func(b []byte) {
		b[22] |= attrTransactional
		binary.BigEndian.PutUint64(b[43:], producer)
	})
}

func marker(t *testing.T, producer uint64, kind byte) []byte {
	raw := encode(t,
		[]record.Record{{Key: []byte{0, 0, 0, kind}, Value: []byte{0, 0, 0, 0, 0, 0}, Time: time.UnixMilli(5)}}, 0)
	return rebatch(transactional(raw, producer), func(b []byte) { b[22] |= attrControl })
}

func TestAbortedAndControlRecordsAreDropped(t *testing.T) {
	raw := encode(t, []record.Record{{Value: []byte("v"), Time: time.UnixMilli(1)}}, 0)
	res := &FetchResponse{aborted: []abortedTransaction{{ProducerID: 8, FirstOffset: 5},
		{ProducerID: 7, FirstOffset: 0}}}
	for i, b := range [][]byte{
		transactional(raw, 7), // 0: aborted
		raw,                   // 1
		transactional(raw, 8), // 2: before the aborted transaction of 8
		marker(t, 8, 1),       // 3: commit
		marker(t, 7, 0),       // 4: abort
		transactional(raw, 8), // 5: aborted
		transactional(raw, 7), // 6: committed later
		marker(t, 7, 1),       // 7
		marker(t, 8, 0),       // 8
		transactional(raw, 8), // 9: a new transaction
		marker(t, 8, 1),       // 10
	} {
		res.records = append(res.records, at(b, int64(i))...)
	}
	s := NewReader(res, 0, 1<<20, unbounded)
	recs, err := readAll(s)
	require.NoError(t, err)
	var offsets []int64
	for _, r := range recs {
		offsets = append(offsets, r.Offset)
	}
	require.Equal(t, []int64{1, 2, 6, 9}, offsets)
	require.EqualValues(t, 11, s.offset, "the marker at the end is passed")
	require.Equal(t, 2, s.aborted)
	require.Equal(t, 5, s.control)
}

// Compaction has removed the last records of the batch, which begins before the requested offset, and the topic has
// its own times.
func TestBatchesOfUnusualTopics(t *testing.T) {
	raw := encode(t, sample(3), 0)
	raw = rebatch(at(raw, 100), func(b []byte) {
		put32(b[23:], 49)
		b[22] |= attrLogAppendTime
		binary.BigEndian.PutUint64(b[35:], 777)
	})
	s := NewReader(&FetchResponse{records: raw}, 101, 1<<20, unbounded)
	recs, err := readAll(s)
	require.NoError(t, err)
	require.Len(t, recs, 2)
	require.EqualValues(t, 150, s.offset)
	require.EqualValues(t, 777, recs[0].Time.UnixMilli())
}

func TestDamagedBatches(t *testing.T) {
	good := encode(t, sample(20), 0)
	claim := snappyClaim(1 << 30)
	for name, c := range map[string]struct {
		raw  []byte
		want error
		text string
	}{
		"flipped bit":      {raw: changed(good, func(b []byte) { b[200] ^= 1 }), want: errChecksum},
		"old format":       {raw: changed(good, func(b []byte) { b[16] = 1 }), text: "message format 1"},
		"length":           {raw: changed(good, func(b []byte) { put32(b[8:], 1) }), want: errMalformed},
		"negative length":  {raw: changed(good, func(b []byte) { put32(b[8:], math.MaxUint32) }), want: errMalformed},
		"too many records": {raw: rebatch(good, func(b []byte) { put32(b[57:], 1<<30) }), want: errMalformed},
		"too few records":  {raw: rebatch(good, func(b []byte) { put32(b[57:], 3) }), want: errMalformed},
		"record length":    {raw: rebatch(good, func(b []byte) { b[61] = 0x7f }), want: errMalformed},
		"offset delta":     {raw: rebatch(good, func(b []byte) { put32(b[23:], 1) }), want: errMalformed},
		"unknown codec":    {raw: rebatch(good, func(b []byte) { b[22] = 7 }), text: "unknown codec 7"},
		"snappy claim":     {raw: batchOf(claim, 2), want: errMalformed},
		"xerial block": {raw: batchOf(append(append(bytes.Clone(xerialMagic), make([]byte, 8)...), 0xff, 0xff,
			0xff, 0xff), 2), want: errMalformed},
		"gzip of nothing": {raw: batchOf([]byte("this is not gzip at all"), 1), text: "decompress"},
		"zstd of nothing": {raw: batchOf([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0, 0, 0}, 4), want: errMalformed},
		"lz4 block size": {raw: batchOf([]byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x30, 0, 0, 0, 0, 0}, 3),
			text: "block size code 3"},
		"lz4 long block": {raw: batchOf(append([]byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, 0x10, 1, 0, 0, 0x1f,
			'x', 1, 0}, bytes.Repeat([]byte{255}, 268)...), 3), text: "in a frame of blocks of 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			limit := 1 << 19
			s := NewReader(&FetchResponse{records: append(at(good, 0),
				changed(c.raw, func(b []byte) { binary.BigEndian.PutUint64(b, 20) })...)}, 0, limit, unbounded)
			recs, err := readAll(s)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			require.ErrorContains(t, err, c.text)
			require.GreaterOrEqual(t, len(recs), 20, "what came before is kept")
		})
	}
}

// put32 writes a number into a batch.
var put32 = binary.BigEndian.PutUint32

// changed changes a copy of a batch, whose checksum stays.
func changed(raw []byte, change func(b []byte)) []byte {
	b := bytes.Clone(raw)
	change(b)
	return b
}

func snappyClaim(n uint64) []byte {
	b := binary.AppendUvarint(nil, n)
	return append(b, snappy.Encode(nil, []byte("x"))[1:]...)
}

// batchOf wraps a payload in a valid header.
func batchOf(payload []byte, codec byte) []byte {
	raw, err := EncodeBatch([]record.Record{{Value: []byte("v"), Time: time.UnixMilli(1)}}, 0)
	if err != nil {
		panic(err)
	}
	raw = append(raw[:batchHeader], payload...)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-batchPrefix))
	return rebatch(raw, func(b []byte) { b[22] = codec })
}

func TestCutOffBatchAtTheEndIsLeftForTheNextFetch(t *testing.T) {
	raw := encode(t, sample(20), 0)
	second := at(raw, 20)
	for cut := range len(second) {
		s := NewReader(&FetchResponse{records: append(bytes.Clone(raw), second[:cut]...)}, 0, 1<<20, unbounded)
		recs, err := readAll(s)
		require.NoError(t, err)
		require.Len(t, recs, 20)
		require.EqualValues(t, 20, s.offset)
	}
}

func TestSplitKeepsBatchesBelowTheLimit(t *testing.T) {
	recs := sample(300)
	recs[100].Value = make([]byte, 5000)
	n := 0
	for part := range Split(recs, 2000) {
		raw := encode(t, part, 0)
		require.True(t, len(raw) <= 2000 || len(part) == 1, "%d bytes", len(raw))
		n += len(part)
	}
	require.Equal(t, len(recs), n)
}

// FuzzReader reads batches with correct checksums and arbitrary contents: no panic, offsets grow, no record
// is larger than the limit.
func FuzzReader(f *testing.F) {
	for codec := range codecs {
		raw := encode(f, sample(10), Codec(codec))
		f.Add(raw[21:], int64(0), int64(-1))
		f.Add(raw[21:], int64(3), int64(-1))
	}
	large := encode(f,
		[]record.Record{{Key: []byte("k"), Value: make([]byte, 2000), Headers: []record.Header{{Key: "h"}}}}, 0)
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
