package decode

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"echosieve/internal/zstdframes"
	"echosieve/pipeline/record"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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
	case bytes.HasPrefix(data, []byte(gzipMagic)):
		return CompressionGzip
	case bytes.HasPrefix(data, []byte(zstdMagic)):
		return CompressionZstd
	}
	return CompressionNone
}

const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// compressionOf returns the compression of a value. Avro without framing has none: its values can begin like gzip.
func (c *Config) compressionOf(value []byte) string {
	if c.Format == FormatAvro && c.Framing != FramingConfluent {
		return CompressionNone
	}
	return CompressionOf(value)
}

// startBytes is the number of bytes that are decompressed before memory is waited for: how large a value becomes is not
// known before. Who decompresses holds a core, so there are as many beginnings as cores. It is the largest size of a
// block of zstd, so that most articles need no more.
const startBytes = zstdframes.Block

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
	}
}

// open decompresses a value. It waits until room holds the memory of all that becomes of the value: weigh tells how
// much that is, by the size of the decompressed value. The caller releases the value. The error is that of ctx.
func (c *Config) open(ctx context.Context, value []byte, room *share, weigh func(n int) int) (plain,
	*record.RejectError, error) {
	codec := c.compressionOf(value)
	if codec == CompressionNone {
		return plain{bytes: value}, nil, room.take(ctx, weigh(len(value)))
	}
	u, err := newUnzipper(codec, value, c.maxBytes())
	if err != nil {
		return plain{}, damaged(codec, err), nil
	}
	defer u.close()
	p := plain{}
	if codec == CompressionGzip || u.most <= startBytes {
		if p, err = u.start(); errors.Is(err, io.EOF) {
			return p, nil, room.take(ctx, weigh(len(p.bytes)))
		}
	}
	if err == nil {
		if err := room.take(ctx, weigh(u.most)); err != nil {
			return p, nil, err
		}
		p, err = u.rest(p)
		room.keep(weigh(len(p.bytes)))
	}
	switch {
	case err != nil:
		return p, damaged(codec, err), nil
	case len(p.bytes) > u.limit:
		return p, record.Reject(record.TooLarge,
			"decompressed with %s, the value has more than %d bytes (kafka.max_message_bytes)",
			codec, u.limit), nil
	}
	return p, nil, nil
}

// unzipper decompresses one value.
type unzipper struct {
	io.Reader
	close func()
	limit int // the size of the largest value
	most  int // at most so many bytes are read: one more than limit if it is not known that the value is smaller
}

// gzipReaders keeps decompressors, which take longer to make than an article to decompress. None has a goroutine of its
// own.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

func newUnzipper(codec string, value []byte, limit int) (*unzipper, error) {
	u := &unzipper{limit: limit, most: limit + 1}
	if codec == CompressionGzip {
		r, _ := gzipReaders.Get().(*gzip.Reader)
		u.Reader, u.close = r, func() { gzipReaders.Put(r) }
		err := r.Reset(bytes.NewReader(value))
		if err != nil {
			u.close()
		}
		return u, err
	}
	reads := uint64(limit + 1 + zstdframes.Block) // a block is decoded whole
	frames := zstdframes.Inspect(value, reads)
	if frames.Window > 2*reads { // the frame says that it has more than limit
		return nil, zstd.ErrWindowSizeExceeded
	}
	size := frames.Content
	if frames.Window > zstdframes.PooledWindow {
		size = max(size, frames.Window)
	}
	u.most = int(min(uint64(u.most), size))
	if frames.Changes() {
		value = bytes.Clone(value) // that of the record is published
	}
	r, err := frames.Open(value)
	if err != nil {
		return nil, err
	}
	u.Reader, u.close = r, func() { _ = r.Close() } // a decoder that cannot be reset is not used again
	return u, nil
}

// start reads into a buffer of beginnings. The error is io.EOF at the end of the value, and nil if there may be more.
func (u *unzipper) start() (plain, error) {
	begin, _ := beginnings.Get().(*[startBytes]byte)
	p := plain{begin: begin}
	buf, n, err := begin[:min(startBytes, u.limit+1)], 0, error(nil)
	for n < len(buf) && err == nil {
		var got int
		got, err = u.Read(buf[n:])
		n += got
	}
	p.bytes = buf[:n]
	return p, err
}

// rest reads up to one byte more than limit, behind what start has read.
func (u *unzipper) rest(start plain) (plain, error) {
	all := bytes.NewBuffer(make([]byte, 0, max(2*len(start.bytes), min(u.most, 2*startBytes))))
	all.Write(start.bytes)
	start.release()
	_, err := all.ReadFrom(io.LimitReader(u, int64(u.limit+1-len(start.bytes))))
	return plain{bytes: all.Bytes()}, err
}

// damaged says why a value cannot be decompressed.
func damaged(codec string, err error) *record.RejectError {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return record.Reject(record.TooLarge, "decompressed with %s, the value has more than kafka.max_message_bytes", codec)
	}
	return record.Reject(record.NotJSON, "the value begins like %s and cannot be decompressed: %v", codec, err)
}
