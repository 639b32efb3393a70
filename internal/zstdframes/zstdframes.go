// Package zstdframes decompresses zstd in memory that is known before: a few bytes can declare a window of gigabytes.
// Record batches and values that producers have compressed themselves are read by the same rule.
package zstdframes

import (
	"bytes"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// MaxWindow is the largest window that brokers accept, the default of the reference decoder. So every batch that a
	// broker has accepted can be read.
	MaxWindow = 128 << 20
	// Block is the largest size of a decompressed block.
	Block = 128 << 10
	// Beside is the memory of a decoder beside its window, in bytes: room for four blocks, and tables.
	Beside = 4*Block + 64<<10
	// PooledWindow is the largest window of decoders that are kept for later payloads. Larger windows would stay in the
	// pool outside of every bound.
	PooledWindow = 256 << 10
)

// pool holds decoders with windows of PooledWindow bytes at most.
var pool sync.Pool

// Frames is what the headers of a payload say. A payload has any number of frames.
type Frames struct {
	// Content is an upper bound of the decompressed size, in bytes.
	Content uint64
	// Window is the largest that a frame needs, in bytes. A decoder allocates it.
	Window uint64
	lower  []loweredWindow
}

// loweredWindow is a window descriptor to write into a frame header.
type loweredWindow struct {
	at         int // index in the payload
	descriptor byte
}

// Inspect reads the headers of a payload. most is the number of decompressed bytes that the caller reads at most.
//
// Encoders declare the window of their level, for example 2 MiB or 128 MiB, before they know how much they will
// compress, and a decoder allocates what is declared. But a frame of a few blocks cannot refer back beyond its
// beginning. Nor need a decoder know more than the caller reads. Such windows may be written as smaller ones, so that a
// decoder allocates less: see Open.
func Inspect(src []byte, most uint64) Frames {
	var f Frames
	for at := 0; at < len(src); {
		var h zstd.Header
		if err := h.Decode(src[at:]); err != nil {
			break // the decoder returns an error when it comes to that frame
		}
		if h.Skippable {
			at += h.HeaderSize + int(h.SkippableSize)
			continue
		}
		content, length := blocks(src[at+h.HeaderSize:])
		switch {
		case h.SingleSegment: // the window is the content, which has no descriptor
			f.Window = max(f.Window, h.FrameContentSize)
		default:
			log := bits.Len64(max(min(content, most), zstd.MinWindowSize) - 1)
			if 1<<log < h.WindowSize {
				f.lower = append(f.lower, loweredWindow{at + 5, byte(log-10) << 3})
			}
			f.Window = max(f.Window, min(1<<log, h.WindowSize))
		}
		if h.HasFCS {
			content = min(content, h.FrameContentSize) // the decoder refuses a frame that holds more
		}
		f.Content += content
		at += h.HeaderSize + length
		if h.HasCheckSum {
			at += 4
		}
	}
	return f
}

// Memory is the memory of the decoder in bytes. It is that of the largest window, but at least that of a decoder from
// the pool.
func (f *Frames) Memory() int64 {
	return int64(min(max(f.Window, PooledWindow), MaxWindow+1)) + Beside
}

// Open returns a reader of the payload that Inspect has read. It writes smaller windows into src.
func (f *Frames) Open(src []byte) (io.ReadCloser, error) {
	for _, l := range f.lower {
		src[l.at] = l.descriptor
	}
	pooled := f.Window <= PooledWindow
	var r *zstd.Decoder
	if pooled {
		r, _ = pool.Get().(*zstd.Decoder)
	}
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(MaxWindow))
		if err != nil {
			return nil, err
		}
	}
	return reader{r, pooled}, r.Reset(bytes.NewReader(src))
}

// Changes says whether Open writes into its argument.
func (f *Frames) Changes() bool { return len(f.lower) > 0 }

// reader is an open decoder.
type reader struct {
	*zstd.Decoder
	pooled bool
}

func (r reader) Close() error {
	if !r.pooled {
		r.Decoder.Close()
		return nil
	}
	err := r.Reset(nil)
	if err == nil {
		pool.Put(r.Decoder)
	}
	return err
}

// blocks walks the blocks of a frame. It returns an upper bound of their decompressed size, and the length of all
// blocks.
func blocks(src []byte) (content uint64, length int) {
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
			content += Block
			length += size
		}
		if last {
			break
		}
	}
	return content, length
}
