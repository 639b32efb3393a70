package wire

import (
	"bytes"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxZstdWindow is the largest window that brokers accept, the default of the reference decoder. So every batch that
	// a broker has accepted can be read.
	maxZstdWindow = 128 << 20
	// zstdBlock is the largest size of a decompressed block.
	zstdBlock = 128 << 10
	// zstdTables is the memory of a decoder beside its window, in bytes: room for four blocks, and tables.
	zstdTables = 4*zstdBlock + 64<<10
	// maxDecoder is the memory in bytes of the largest decompressor that is opened: that of a frame with the greatest
	// window.
	maxDecoder = maxZstdWindow + zstdTables
	// pooledWindow is the largest window of decoders that are kept for later payloads. Larger windows would stay in the
	// pool outside of every bound.
	pooledWindow = 256 << 10
)

// zstdDecoders holds decoders with windows of pooledWindow bytes at most.
var zstdDecoders sync.Pool

// loweredWindow is a window descriptor to write into a frame header.
type loweredWindow struct {
	at         int // index in the payload
	descriptor byte
}

// zstdDecoder writes smaller windows into the payload when it is opened.
//
// Encoders declare the window of their level, for example 2 MiB or 128 MiB, before they know how much they will
// compress, and a decoder allocates what is declared. But a frame of a few blocks cannot refer back beyond its
// beginning: its window may be written as a smaller one, so that a decoder allocates less.
func zstdDecoder(src []byte) decoder {
	var lower []loweredWindow
	window := uint64(0) // the largest that a frame needs, in bytes
	for at := 0; at < len(src); {
		var h zstd.Header
		if err := h.Decode(src[at:]); err != nil {
			break // the decoder returns an error when it comes to that frame
		}
		if h.Skippable {
			at += h.HeaderSize + int(h.SkippableSize)
			continue
		}
		content, length := zstdBlocks(src[at+h.HeaderSize:])
		if h.SingleSegment { // the window is the content, which has no descriptor
			window = max(window, h.FrameContentSize)
		} else {
			log := bits.Len64(max(content, zstd.MinWindowSize) - 1)
			if 1<<log < h.WindowSize {
				lower = append(lower, loweredWindow{at + 5, byte(log-10) << 3})
			}
			window = max(window, min(1<<log, h.WindowSize))
		}
		at += h.HeaderSize + length
		if h.HasCheckSum {
			at += 4
		}
	}
	return decoder{int64(min(max(window, pooledWindow), maxZstdWindow+1)) + zstdTables, func() (io.ReadCloser, error) {
		for _, l := range lower {
			src[l.at] = l.descriptor
		}
		return openZstd(src, window <= pooledWindow)
	}}
}

func openZstd(src []byte, pooled bool) (io.ReadCloser, error) {
	var r *zstd.Decoder
	if pooled {
		r, _ = zstdDecoders.Get().(*zstd.Decoder)
	}
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
	}
	return zstdReader{r, pooled}, r.Reset(bytes.NewReader(src))
}

// zstdReader is an open decoder.
type zstdReader struct {
	*zstd.Decoder
	pooled bool
}

func (r zstdReader) Close() error {
	if !r.pooled {
		r.Decoder.Close()
		return nil
	}
	err := r.Reset(nil)
	if err == nil {
		zstdDecoders.Put(r.Decoder)
	}
	return err
}

// zstdBlocks walks the blocks of a frame. It returns an upper bound of their decompressed size, and the length of all
// blocks.
func zstdBlocks(src []byte) (content uint64, length int) {
	for length+3 <= len(src) {
		b := src[length:]
		header := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		last, kind, size := header&1 != 0, header>>1&3, header>>3
		length += 3
		switch kind {
		case 0: // uncompressed
			content += uint64(size)
			length += size
		case 1: // one byte, repeated
			content += uint64(size)
			length++
		default:
			content += zstdBlock
			length += size
		}
		if last {
			break
		}
	}
	return content, length
}
