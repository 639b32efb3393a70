package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
	"github.com/segmentio/kafka-go/compress"
)

// Codec is a compression codec, by its number in a batch's attributes.
type Codec int16

// codecs are the names in the configuration; the index is the Codec.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// CodecNamed returns the codec of a name in the configuration, and whether there is one: none, gzip, snappy,
// lz4 or zstd.
func CodecNamed(name string) (Codec, bool) {
	i := slices.Index(codecs, name)
	return Codec(i), i >= 0
}

// newDecoder reads the lengths in the headers of a payload. kafka-go's codecs for snappy, lz4 and zstd are
// not used: they allocate as much memory as the headers claim, and keep it in pools.
func newDecoder(codec Codec, src []byte) (decoder, error) {
	switch codec {
	case 0:
		return decoder{open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(src)), nil }}, nil
	case 1:
		return decoder{gzipMemory, func() (io.ReadCloser, error) {
			return compress.Compression(codec).Codec().NewReader(bytes.NewReader(src)), nil
		}}, nil
	case 2:
		return snappyDecoder(src), nil
	case 3:
		return lz4Decoder(src)
	case 4:
		return zstdDecoder(src), nil
	default:
		return decoder{}, fmt.Errorf("unknown codec %d", codec)
	}
}

// gzipMemory is the memory of a gzip reader in bytes: a window of 32 KiB and its tables.
const gzipMemory = 64 << 10

// compressPayload returns the batch with what follows its header compressed, and the codec used. If the result is not
// smaller, it returns the batch as it is and no codec: so the uncompressed size is an upper bound.
func compressPayload(codec Codec, batch []byte, header int) ([]byte, Codec, error) {
	if codec == 0 {
		return batch, 0, nil
	}
	buf := bytes.NewBuffer(make([]byte, header, header+len(batch)/2)) // texts take less
	w := newCompressor(codec, buf)
	if _, err := w.Write(batch[header:]); err != nil {
		return nil, 0, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, 0, fmt.Errorf("compress: %w", err)
	}
	if buf.Len() >= len(batch) {
		return batch, 0, nil
	}
	return buf.Bytes(), codec, nil
}

// newCompressor returns a writer that compresses into buf until it is closed. That of kafka-go for lz4 has blocks of 4
// MiB: two of them are its memory, and a reader's as well. Blocks of 256 KiB make a text 1 % longer.
func newCompressor(codec Codec, buf *bytes.Buffer) io.WriteCloser {
	if codec != 3 {
		return compress.Compression(codec).Codec().NewWriter(buf)
	}
	w := lz4.NewWriter(buf)
	_ = w.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(false)) // the batch has a checksum; never fails
	return w
}

// xerialMagic begins the snappy of Java clients: these 8 bytes, two version numbers, then blocks that each
// follow their length. Other clients send one block without a frame.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// snappyBlocks walks the blocks of a payload.
type snappyBlocks struct {
	src    []byte // blocks that were not passed yet
	framed bool   // each block follows its length
}

func newSnappyBlocks(src []byte) snappyBlocks {
	framed := bytes.HasPrefix(src, xerialMagic)
	if framed {
		src = src[min(16, len(src)):]
	}
	return snappyBlocks{src, framed}
}

// next returns the next block, which is still compressed, and its decompressed size. The error at the end is io.EOF.
func (b *snappyBlocks) next() (block []byte, size int, err error) {
	if len(b.src) == 0 {
		return nil, 0, io.EOF
	}
	block = b.src
	if b.framed {
		if len(b.src) < 4 {
			return nil, 0, errMalformed
		}
		n := int64(binary.BigEndian.Uint32(b.src))
		if n > int64(len(b.src)-4) {
			return nil, 0, errMalformed
		}
		block = b.src[4 : 4+n]
		b.src = b.src[4:]
	}
	b.src = b.src[len(block):]
	size, err = snappy.DecodedLen(block)
	// Three bytes of snappy make at most 64 bytes: a claim of more than 22 times the block is false.
	if err == nil && size/22 > len(block) {
		err = errMalformed
	}
	return block, size, err
}

// snappyDecoder decompresses block by block, in the memory of the largest block.
func snappyDecoder(src []byte) decoder {
	largest := 0
	for blocks := newSnappyBlocks(src); ; {
		_, size, err := blocks.next()
		if err != nil {
			break // the reader returns the error when it comes to that block
		}
		largest = max(largest, size)
	}
	return decoder{int64(largest), func() (io.ReadCloser, error) {
		blocks, buf := newSnappyBlocks(src), make([]byte, largest)
		return io.NopCloser(&blockReader{next: func() ([]byte, error) {
			block, _, err := blocks.next()
			if err != nil {
				return nil, err
			}
			return snappy.Decode(buf, block)
		}}), nil
	}}
}
