package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
)

// Codec is a compression codec, by its number in a batch's attributes.
type Codec int16

// codecs are the names in the configuration; the index is the Codec.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// CodecNamed returns the codec of a name in the configuration, and whether there is one: none, gzip, snappy, lz4 or zstd.
func CodecNamed(name string) (Codec, bool) {
	i := slices.Index(codecs, name)
	return Codec(i), i >= 0
}

// decompressor returns a reader of a batch's payload. Whatever lengths the payload claims, the reader's memory stays below
// maxZstdWindow or, for snappy, below about 22 times the compressed size of a block. kafka-go's codecs for snappy and zstd are not
// used: they allocate as much memory as lengths inside the data claim.
func decompressor(codec Codec, src []byte) (io.ReadCloser, error) {
	switch codec {
	case 0:
		return io.NopCloser(bytes.NewReader(src)), nil
	case 1, 3:
		return compress.Compression(codec).Codec().NewReader(bytes.NewReader(src)), nil
	case 2:
		return newSnappyReader(src), nil
	case 4:
		return newZstdReader(src)
	default:
		return nil, fmt.Errorf("unknown codec %d", codec)
	}
}

// snappyReader decompresses block by block.
type snappyReader struct {
	src    []byte // blocks that are not decompressed yet
	framed bool   // each block follows its length
	block  []byte // decompressed
	rest   []byte // the part of block that was not read yet
}

// xerialMagic begins the snappy of Java clients: these 8 bytes, two version numbers, then blocks that each follow their length.
// Other clients send one block without a frame.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func newSnappyReader(src []byte) io.ReadCloser {
	framed := bytes.HasPrefix(src, xerialMagic)
	if framed {
		src = src[min(16, len(src)):]
	}
	return io.NopCloser(&snappyReader{src: src, framed: framed})
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if len(r.src) == 0 {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *snappyReader) next() error {
	block := r.src
	if r.framed {
		if len(r.src) < 4 {
			return errMalformed
		}
		n := int64(binary.BigEndian.Uint32(r.src))
		if n > int64(len(r.src)-4) {
			return errMalformed
		}
		block = r.src[4 : 4+n]
		r.src = r.src[4:]
	}
	r.src = r.src[len(block):]
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	// Three bytes of snappy make at most 64 bytes: a claim of more than 22 times the block is false.
	if n/22 > len(block) {
		return errMalformed
	}
	if n > len(r.block) {
		r.block = make([]byte, n)
	}
	r.rest, err = snappy.Decode(r.block, block)
	return err
}

// maxZstdWindow is the largest window that brokers accept, the default of the reference decoder. So every batch that a broker has
// accepted can be read.
const maxZstdWindow = 128 << 20

var zstdReaders sync.Pool

// zstdReader returns its decoder to the pool when it is closed.
type zstdReader struct{ *zstd.Decoder }

func newZstdReader(src []byte) (io.ReadCloser, error) {
	r, _ := zstdReaders.Get().(*zstd.Decoder)
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
	}
	return zstdReader{r}, r.Reset(bytes.NewReader(src))
}

func (r zstdReader) Close() error {
	err := r.Reset(nil)
	if err == nil {
		zstdReaders.Put(r.Decoder)
	}
	return err
}

// compressPayload returns src compressed, and the codec used. If the result is not smaller, it returns src and no codec: so the
// uncompressed size is an upper bound.
func compressPayload(codec Codec, src []byte) ([]byte, Codec, error) {
	if codec == 0 {
		return src, 0, nil
	}
	var buf bytes.Buffer
	w := compress.Compression(codec).Codec().NewWriter(&buf)
	if _, err := w.Write(src); err != nil {
		return nil, 0, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, 0, fmt.Errorf("compress: %w", err)
	}
	if buf.Len() >= len(src) {
		return src, 0, nil
	}
	return buf.Bytes(), codec, nil
}
