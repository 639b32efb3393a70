// Package frames compresses record batches as a hostile producer can: into frames that brokers accept and
// that take as much memory to decompress as any. It is for tests.
package frames

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// Window is the largest window that brokers accept in a frame of zstd, in bytes.
	Window = 128 << 20

	block = 128 << 10 // of zstd, at most
	magic = "\x28\xb5\x2f\xfd"
	// descriptor of a window of 128 MiB: the power of two above 1 KiB, in the upper five bits.
	descriptor = 17 << 3
)

// Zstd compresses runs of one byte, into frames that declare the largest window.
type Zstd struct{}

var _ kgo.Compressor = Zstd{}

// Compress implements kgo.Compressor. The frame has one block for each 128 KiB: 4 bytes if all its bytes are
// the same, else the bytes.
func (Zstd) Compress(dst *bytes.Buffer, src []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	dst.WriteString(magic)
	dst.Write([]byte{0, descriptor}) // the size of the content is not known
	for {
		n := min(block, len(src))
		part, last := src[:n], 0
		if src = src[n:]; len(src) == 0 {
			last = 1
		}
		repeated := n > 0 && bytes.Count(part, part[:1]) == n
		header := n<<3 | last
		if repeated {
			header, part = header|1<<1, part[:1]
		}
		dst.Write([]byte{byte(header), byte(header >> 8), byte(header >> 16)})
		dst.Write(part)
		if last == 1 {
			return dst.Bytes(), kgo.CodecZstd
		}
	}
}
