package wire

import (
	"bytes"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxZstdWindow is the largest window that brokers accept, the default of the reference decoder. So every batch that a broker has
	// accepted can be read.
	maxZstdWindow = 128 << 20
	// zstdBlock is the largest size of a decompressed block.
	zstdBlock = 128 << 10
	// zstdBlocks is the memory of a decoder beside its window, in bytes: room for four blocks, and tables.
	zstdBlocks = 4*zstdBlock + 64<<10
	// pooledZstdWindow is the largest window of decoders that are kept for later batches. Larger windows would stay in the pool outside
	// of every bound.
	pooledZstdWindow = 256 << 10
)

// zstdPool holds decoders with windows of pooledZstdWindow bytes at most.
var zstdPool sync.Pool

// zstdDecoder decompresses a payload of any number of frames, in the memory of the largest window.
func zstdDecoder(src []byte) decoder {
	window, lower := zstdWindows(src)
	window = max(window, pooledZstdWindow) // a decoder from the pool may have as much
	return decoder{int64(min(window, maxZstdWindow+1)) + zstdBlocks, func() (io.ReadCloser, error) {
		for _, l := range lower {
			src[l.at] = l.descriptor
		}
		r, _ := zstdPool.Get().(*zstd.Decoder)
		if r == nil || window > pooledZstdWindow {
			var err error
			r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
			if err != nil {
				return nil, err
			}
		}
		return zstdReader{r, window <= pooledZstdWindow}, r.Reset(bytes.NewReader(src))
	}}
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
		zstdPool.Put(r.Decoder)
	}
	return err
}

// loweredWindow is a window descriptor to write into a frame header.
type loweredWindow struct {
	at         int // index in the payload
	descriptor byte
}

// zstdWindows returns the largest window that the frames of a payload need, in bytes. Encoders declare the window of their level, for
// example 2 MiB or 128 MiB, before they know how much they will compress, and a decoder allocates what is declared. But a frame of a few
// blocks cannot refer back beyond its beginning. lower holds the windows that may be written as smaller ones, so that a decoder allocates
// less.
func zstdWindows(src []byte) (window uint64, lower []loweredWindow) {
	for at := 0; at < len(src); {
		var h zstd.Header
		if err := h.Decode(src[at:]); err != nil {
			break // the decoder returns an error when it comes to that frame
		}
		if h.Skippable {
			at += h.HeaderSize + int(h.SkippableSize)
			continue
		}
		content, length := zstdFrame(src[at+h.HeaderSize:])
		switch {
		case h.SingleSegment: // the window is the content, which has no descriptor
			window = max(window, h.FrameContentSize)
		default:
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
	return window, lower
}

// zstdFrame walks the blocks of a frame. It returns an upper bound of their decompressed size, and the length of all blocks.
func zstdFrame(blocks []byte) (content uint64, length int) {
	for length+3 <= len(blocks) {
		b := blocks[length:]
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
