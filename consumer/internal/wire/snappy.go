package wire

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/snappy"
)

// xerialMagic begins the snappy of Java clients: these 8 bytes, two version numbers, then blocks that each follow their length.
// Other clients send one block without a frame.
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
