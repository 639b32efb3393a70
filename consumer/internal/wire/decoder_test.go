package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"echosieve/pipeline/record"
	"echosieve/test/host"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// encoded returns a payload with one record of an article of so many bytes.
func encoded(size int) []byte {
	return appendRecord(nil, &record.Record{Value: []byte(strings.Repeat("article ", size/8))}, 0, 0)
}

// zstdFrameOf returns a frame of plain that declares a window.
func zstdFrameOf(t *testing.T, plain []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false),
		zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	half := len(plain) / 2
	for _, part := range [][]byte{plain[:half], plain[half:]} { // a stream: the encoder does not know the size
		_, err = w.Write(part)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func lz4FrameOf(t *testing.T, plain []byte, opts ...lz4.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	require.NoError(t, w.Apply(opts...))
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// xerial returns blocks in the frame of Java clients.
func xerial(blocks ...[]byte) []byte {
	b := append(bytes.Clone(xerialMagic), make([]byte, 8)...)
	for _, block := range blocks {
		packed := snappy.Encode(nil, block)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(packed))), packed...)
	}
	return b
}

// A decompressor asks for its memory before it is opened, and then takes no more.
func TestMemoryOfDecompressorsIsKnownBefore(t *testing.T) {
	const mib = 1 << 20
	article, large := encoded(10_000), encoded(40*mib)
	half := len(article) / 2
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	for _, c := range []struct {
		name    string
		codec   byte
		payload []byte
		plain   []byte
		most    int64 // of the memory asked for
	}{
		{"zstd, little content in the largest window", 4, zstdFrameOf(t, article, maxZstdWindow), article,
			2 * mib},
		{"zstd, much content in the largest window", 4, zstdFrameOf(t, large, maxZstdWindow), large, 65 * mib},
		{"zstd, much content in a small window", 4, zstdFrameOf(t, large, 1*mib), large, 2 * mib},
		{
			"zstd, the second of three frames is large", 4,
			slices.Concat(zstdFrameOf(t, large[:100], 1<<10), skippable, zstdFrameOf(t, large[100:len(large)-100],
				maxZstdWindow), zstdFrameOf(t, large[len(large)-100:], 1<<10)),
			large, 65 * mib,
		},
		{"snappy, one block", 2, snappy.Encode(nil, article), article, 1 * mib},
		{"snappy, one large block", 2, snappy.Encode(nil, large), large, 41 * mib},
		{"snappy, the second block is large", 2, xerial(large[:100], large[100:len(large)-100],
			large[len(large)-100:]), large, 41 * mib},
		{"snappy, small blocks", 2, xerial(article[:half], article[half:]), article, 1 * mib},
		{"lz4, little content in the largest blocks", 3, lz4FrameOf(t, article, lz4.BlockSizeOption(lz4.Block4Mb)),
			article, 64 << 10},
		{"lz4, much content in the largest blocks", 3, lz4FrameOf(t, large, lz4.BlockSizeOption(lz4.Block4Mb)), large,
			4 * mib},
		{"lz4, small blocks and every checksum", 3, lz4FrameOf(t, large, lz4.BlockSizeOption(lz4.Block64Kb),
			lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(large)))), large,
			1 * mib},
		{"lz4, another frame behind the end", 3, append(lz4FrameOf(t, article), lz4FrameOf(t, large)...), article,
			64 << 10},
		{"lz4, anything behind the end", 3, append(lz4FrameOf(t, article), "garbage"...), article, 64 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := batchOf(c.payload, c.codec)
			var asked int64
			released := 0
			r := NewReader(&FetchResponse{records: raw}, 0, mib, func(n int64) (func(), error) {
				require.Zero(t, asked, "once")
				asked = n
				return func() { released++ }, nil
			})
			used := host.Allocated(func() {
				recs, err := readAll(r)
				require.NoError(t, err)
				require.Len(t, recs, 1)
				if len(c.plain) > mib {
					require.NotNil(t, recs[0].Oversize)
				} else {
					require.Equal(t, strings.Repeat("article ", 1250), string(recs[0].Value))
				}
			})
			require.Equal(t, 1, released)
			require.Positive(t, asked)
			require.LessOrEqual(t, asked, c.most)
			require.Less(t, int64(used), asked+asked/4+mib, "garbage included, with the record and its reader")
		})
	}
}

// A linked block refers to the block before it.
func TestLinkedBlocksOfLZ4(t *testing.T) {
	frame := []byte{0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0}
	first, second := []byte{0x80, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'},
		[]byte{0x14, 'x', 9, 0, 0x50, '1', '2', '3', '4', '5'}
	for _, block := range [][]byte{first, second} {
		frame = append(binary.LittleEndian.AppendUint32(frame, uint32(len(block))), block...)
	}
	d, err := newDecoder(3, append(frame, 0, 0, 0, 0))
	require.NoError(t, err)
	require.EqualValues(t, lz4Window+14, d.memory)
	r, err := d.open()
	require.NoError(t, err)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "abcdefghxabcdefgh12345", string(plain))
}

// zstdFrameTooLarge returns a frame that takes more memory than any decompressor may have.
func zstdFrameTooLarge() []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 19 << 3} // a window of 512 MiB
	for range 1025 {
		frame = append(frame, 1<<1, 0, 0x10, 'x') // 128 KiB of one letter
	}
	return append(frame, 1, 0, 0)
}

// A batch that would take more memory than any decompressor may have is not decompressed.
func TestBatchesThatTakeTooMuchMemoryComeUnread(t *testing.T) {
	claim := snappyClaim(1 << 28)
	for name, raw := range map[string][]byte{
		"zstd":   batchOf(zstdFrameTooLarge(), 4),
		"snappy": batchOf(append(claim, make([]byte, 1<<28/22)...), 2),
	} {
		t.Run(name, func(t *testing.T) {
			raw = rebatch(raw, func(b []byte) {
				binary.BigEndian.PutUint32(b[23:], 2)
				binary.BigEndian.PutUint32(b[57:], 3)
				binary.BigEndian.PutUint64(b[35:], 777)
			})
			good := encode(t, sample(1), 0)
			var recs []record.Record
			var err error
			used := host.Allocated(func() {
				recs, err = readAll(NewReader(&FetchResponse{records: append(bytes.Clone(raw), at(good, 3)...)}, 1,
					1<<20, unbounded))
			})
			require.NoError(t, err)
			require.Less(t, used, uint64(len(raw)+1<<20))
			require.Len(t, recs, 3, "offsets 1 and 2 of the batch, and the record after it")
			for i, r := range recs[:2] {
				require.EqualValues(t, i+1, r.Offset)
				require.EqualValues(t, 777, r.Time.UnixMilli())
				require.Greater(t, r.Oversize.Batch, int64(maxDecoder))
			}
			require.Nil(t, recs[2].Oversize)
		})
	}
}

// While there is no memory, Next stops before the batch. Open waits for memory, and the records follow.
func TestReaderStopsWhereNoMemoryIsLeft(t *testing.T) {
	plain := encode(t, sample(2), 0)
	packed := batchOf(zstdFrameOf(t, encoded(1000), 1<<20), 4)
	r := NewReader(&FetchResponse{records: append(plain, at(packed, 2)...)}, 0, 1<<20,
		func(int64) (func(), error) { return nil, ErrNoMemory })
	for range 2 {
		_, ok, err := r.Next()
		require.NoError(t, err)
		require.True(t, ok)
	}
	for range 2 {
		_, ok, err := r.Next()
		require.NoError(t, err)
		require.False(t, ok)
		require.True(t, r.More())
		require.EqualValues(t, 2, r.Offset())
	}
	require.NoError(t, r.Open(unbounded))
	rec, ok, err := r.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 2, rec.Offset)
}
