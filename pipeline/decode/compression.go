package decode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"echosieve/pipeline/record"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/semaphore"
)

// The results of CompressionOf.
const (
	CompressionNone = "none"
	CompressionGzip = "gzip"
	CompressionZstd = "zstd"
)

// CompressionOf returns the compression of data by its first four bytes. Neither JSON nor a text in UTF-8 begins like
// gzip or zstd.
func CompressionOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return CompressionGzip
	case bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")):
		return CompressionZstd
	}
	return CompressionNone
}

// compressionOf returns the compression of a value. Avro without framing has none: its values can begin like gzip.
func (c *Config) compressionOf(value []byte) string {
	if c.Format == FormatAvro && c.Framing != FramingConfluent {
		return CompressionNone
	}
	return CompressionOf(value)
}

// startBytes is the size of the buffers into which a value is decompressed before memory is waited for, unless it
// claims more. Who decompresses holds a core, so there are as many as cores. Most articles need no more.
const startBytes = 128 << 10

// beginnings keeps buffers of startBytes.
var beginnings = sync.Pool{New: func() any { return new([startBytes]byte) }}

// plain is the value of a record without compression.
type plain struct {
	bytes []byte
	begin *[startBytes]byte // the buffer that holds bytes; nil: none of beginnings
}

// release gives the buffer back. bytes must not be used afterwards.
func (p *plain) release() {
	if p.begin != nil {
		beginnings.Put(p.begin)
		p.begin = nil
	}
}

// open decompresses a value. It waits until room holds the memory of all that becomes of the value: weigh tells how
// much that is, by the size of the decompressed value. The caller releases the value. The error is a
// *record.RejectError, or that of ctx.
func (c *Config) open(ctx context.Context, value []byte, room *share, weigh func(n int) int) (p plain,
	err error) {
	codec, limit := c.compressionOf(value), c.maxBytes()
	if codec == CompressionNone {
		return plain{bytes: value}, room.take(ctx, weigh(len(value)))
	}
	var bad error
	for _, size := range []int{claimedBytes(codec, value, limit), limit} { // a claim may be too small
		if size < startBytes {
			p.begin, _ = beginnings.Get().(*[startBytes]byte)
			p.bytes, bad = decompress(codec, value, p.begin[:0:min(startBytes, limit+1)])
		} else if err := room.take(ctx, weigh(size)); err != nil {
			return p, err
		} else {
			p.bytes, bad = decompress(codec, value, make([]byte, 0, size+1))
		}
		if bad == nil && p.begin != nil {
			return p, room.take(ctx, weigh(len(p.bytes)))
		}
		room.keep(weigh(len(p.bytes)))
		if !errors.Is(bad, errLonger) {
			break
		}
		p.release()
		room.keep(0)
	}
	switch {
	case errors.Is(bad, errLonger):
		return p, record.Reject(record.TooLarge,
			"decompressed with %s, the value has more than %d bytes (kafka.max_message_bytes)", codec, limit)
	case bad != nil:
		return p, record.Reject(record.NotJSON, "the value begins like %s and cannot be decompressed: %v", codec, bad)
	}
	return p, nil
}

// claimedBytes is the size, limit at most, that a value is said to have without its compression; 0 if nothing is said.
func claimedBytes(codec string, value []byte, limit int) int {
	claimed, header := uint64(0), zstd.Header{}
	if codec == CompressionGzip && len(value) > 4 {
		claimed = uint64(binary.LittleEndian.Uint32(value[len(value)-4:]))
	} else if codec == CompressionZstd && header.Decode(value) == nil && header.HasFCS {
		claimed = header.FrameContentSize
	}
	return int(min(claimed, uint64(limit)))
}

// errLonger says that a value fills a buffer.
var errLonger = errors.New("the value is longer")

// decompress decompresses a value into the capacity of a buffer, of which it leaves at least a byte.
func decompress(codec string, value, into []byte) ([]byte, error) {
	var err error
	if codec == CompressionGzip {
		r, _ := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(r)
		err = r.Reset(bytes.NewReader(value))
		for err == nil && len(into) < cap(into) {
			var n int
			n, err = r.Read(into[len(into):cap(into)])
			into = into[:len(into)+n]
		}
	} else {
		into, err = unzstd().DecodeAll(value, into)
	}
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), len(into) == cap(into):
		return nil, errLonger
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return into, nil
}

// gzipReaders keeps decompressors, which take longer to make than an article to decompress. None has a goroutine of its
// own.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unzstd decompresses whole values, which are their own windows: it allocates none, whatever a header claims.
var unzstd = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(1<<40), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are wrong
	}
	return d
})

// Memory bounds the values that this process works on at a time, in bytes of the values without their compression. One
// Memory serves all who decode: the pipeline, the console, looks and commands. A value takes up to 40 times its size
// while it is decompressed, read and fingerprinted (SECURITY.md), so the sum of the sizes bounds the memory. Safe for
// concurrent use; a nil Memory has no bound.
//
// There is no deadlock, because who holds a share waits for nothing: not for a core, which it has already, nor for a
// schema, which was asked for before, nor for the consumer's permits, which its batch holds. A share is taken whole,
// before the memory that it stands for is allocated. If it is too small, it is given back, with all that was made,
// before a larger one is waited for. Small values are decompressed without a share (startBytes).
//
// Waiters are served in order. A value above the whole bound waits until no other value is under way, and then exceeds
// the bound.
type Memory struct {
	free  *semaphore.Weighted
	bytes int64
}

// NewMemory returns a Memory for values of so many bytes together.
func NewMemory(bytes int) *Memory {
	n := max(int64(bytes), 1)
	return &Memory{semaphore.NewWeighted(n), n}
}

// share is the part of a Memory that one value holds. The zero share holds nothing and has no bound.
type share struct {
	memory *Memory
	held   int64
}

// take waits until n bytes are free. The share must hold nothing. The error is that of ctx.
func (s *share) take(ctx context.Context, n int) error {
	if s.memory == nil {
		return nil
	}
	want := min(int64(n), s.memory.bytes)
	if err := s.memory.free.Acquire(ctx, want); err != nil {
		return err
	}
	s.held = want
	return nil
}

// While calls fn while it holds n bytes, for texts that come from elsewhere than a record. fn must wait for nothing.
// The error is that of ctx; then fn was not called.
func (m *Memory) While(ctx context.Context, n int, fn func()) error {
	s := share{memory: m}
	if err := s.take(ctx, n); err != nil {
		return err
	}
	defer s.keep(0)
	fn()
	return nil
}

// keep gives back what the share holds above n bytes.
func (s *share) keep(n int) {
	if more := s.held - int64(n); more > 0 {
		s.memory.free.Release(more)
		s.held -= more
	}
}
