package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// Layout of an LZ4 frame: a magic number, a byte of flags, the code of the block size, optional fields, a
// checksum byte, then blocks that each follow their length. The length 0 ends the frame. Checksums are not
// compared: the checksum of the record batch covers them.
const (
	lz4Magic          = 0x184D2204
	lz4Linked         = 0x20 // flag that is 0 if blocks refer to earlier blocks
	lz4BlockChecksums = 0x10
	lz4ContentSize    = 0x08
	lz4DictionaryID   = 0x01
	lz4Uncompressed   = 1 << 31
	lz4Window         = 64 << 10 // how far a block can refer back
)

// lz4Blocks walks the blocks of a payload. A payload is one frame. As in Kafka's own clients, what follows
// the frame is ignored.
type lz4Blocks struct {
	src       []byte // blocks that were not passed yet
	linked    bool
	checksums bool // each block precedes its checksum
	largest   int  // decompressed size of the largest block that the frame allows
}

func newLZ4Blocks(src []byte) (lz4Blocks, error) {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic {
		return lz4Blocks{}, fmt.Errorf("%w: decompress: no LZ4 frame", errMalformed)
	}
	flags, code := src[4], src[5]>>4&7
	header := 7
	if flags&lz4ContentSize != 0 {
		header += 8
	}
	if flags&lz4DictionaryID != 0 {
		header += 4
	}
	if code < 4 || header > len(src) {
		return lz4Blocks{}, fmt.Errorf("%w: decompress: LZ4 frame with block size code %d", errMalformed, code)
	}
	// The codes 4 to 7 are 64 KiB, 256 KiB, 1 MiB and 4 MiB.
	return lz4Blocks{src[header:], flags&lz4Linked == 0, flags&lz4BlockChecksums != 0, 1 << (8 + 2*code)}, nil
}

// next returns the next block and whether it is compressed. The error at the end of the frame is io.EOF.
func (b *lz4Blocks) next() (block []byte, compressed bool, err error) {
	if len(b.src) < 4 {
		return nil, false, io.ErrUnexpectedEOF
	}
	length := binary.LittleEndian.Uint32(b.src)
	if length == 0 {
		return nil, false, io.EOF
	}
	n, trailer := int64(length&^lz4Uncompressed), int64(0)
	if b.checksums {
		trailer = 4
	}
	if 4+n+trailer > int64(len(b.src)) {
		return nil, false, io.ErrUnexpectedEOF
	}
	block, b.src = b.src[4:4+n], b.src[4+n+trailer:]
	return block, length&lz4Uncompressed == 0, nil
}

// lz4Decoder decompresses block by block, in the memory of the largest block. Many clients declare blocks of
// 4 MiB and send less.
func lz4Decoder(src []byte) (decoder, error) {
	blocks, err := newLZ4Blocks(src)
	if err != nil {
		return decoder{}, err
	}
	memory := 0
	for walk := blocks; ; {
		block, compressed, err := walk.next()
		if err != nil {
			break // the reader returns the error when it comes to that block
		}
		size := len(block)
		if compressed {
			size = lz4Size(block)
		}
		if size > blocks.largest {
			return decoder{}, fmt.Errorf("%w: decompress: LZ4 block of %d bytes in a frame of blocks of %d",
				errMalformed, size, blocks.largest)
		}
		memory = max(memory, size)
	}
	if blocks.linked {
		memory += lz4Window
	}
	return decoder{int64(memory), func() (io.ReadCloser, error) {
		r := &lz4Reader{blocks: blocks, buf: make([]byte, memory)}
		return io.NopCloser(&blockReader{next: r.next}), nil
	}}, nil
}

// lz4Size returns the decompressed size of a block, which it finds by adding up the lengths in the block. If
// the block is malformed, it returns the size up to the mistake.
func lz4Size(block []byte) (size int) {
	length := func(n int) int {
		for n >= 15 && len(block) > 0 {
			next := int(block[0])
			block = block[1:]
			n += next
			if next != 255 {
				break
			}
		}
		return n
	}
	for len(block) > 0 {
		token := block[0]
		block = block[1:]
		literals := length(int(token >> 4))
		size += literals
		if literals+2 > len(block) { // the last run of literals, without a match
			break
		}
		block = block[literals+2:]
		size += length(int(token&15)) + 4
	}
	return size
}

// lz4Reader decompresses the blocks of a frame.
type lz4Reader struct {
	blocks lz4Blocks
	buf    []byte // if blocks are linked, up to lz4Window bytes of earlier blocks, then the block; else the block
	held   int    // bytes in buf of earlier blocks and the last block
}

func (r *lz4Reader) next() ([]byte, error) {
	block, compressed, err := r.blocks.next()
	if err != nil {
		return nil, err
	}
	if earlier := r.buf[:r.held]; r.blocks.linked {
		r.held = copy(r.buf, earlier[max(0, len(earlier)-lz4Window):])
	} else {
		r.held = 0
	}
	dictionary, dst := r.buf[:r.held], r.buf[r.held:]
	if !compressed {
		r.held += copy(dst, block)
		return dst[:len(block)], nil
	}
	n, err := lz4.UncompressBlockWithDict(block, dst, dictionary)
	if err != nil {
		return nil, err
	}
	r.held += n
	return dst[:n], nil
}
