package files

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"echosieve/pipeline/decode"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	lineBufferBytes = 256 << 10
	maxZstdWindow   = 128 << 20 // the zstd tool decompresses no larger window without --long
)

// decompressed returns the text of a file that is plain or compressed with gzip or zstd; its first bytes say
// which. Zero bytes behind the compressed data mean nothing, as for gzip: tapes and block devices fill their blocks.
// done frees the decompressor.
func decompressed(r io.Reader) (text *bufio.Reader, done func(), err error) {
	in := bufio.NewReaderSize(r, lineBufferBytes)
	start, _ := in.Peek(4) // reading returns the error, if there is one
	switch decode.CompressionOf(start) {
	case decode.CompressionGzip:
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		unzip.Multistream(false)
		return bufio.NewReaderSize(&members{in, unzip}, lineBufferBytes), func() {}, nil
	case decode.CompressionZstd:
		f := &frames{in: in}
		f.unzip, err = zstd.NewReader(f.compressed(), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return bufio.NewReaderSize(f, lineBufferBytes), f.unzip.Close, nil
	}
	return in, func() {}, nil
}

// skipZeros skips zero bytes. The error is io.EOF if nothing stands behind them.
func skipZeros(in *bufio.Reader) error {
	for {
		if c, err := in.ReadByte(); err != nil {
			return err
		} else if c != 0 {
			return in.UnreadByte()
		}
	}
}

// members reads the members of a gzip file.
type members struct {
	in    *bufio.Reader
	unzip *gzip.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.unzip.Read(p)
		if n > 0 {
			return n, nil
		}
		if !errors.Is(err, io.EOF) {
			return 0, err
		}
		if err := skipZeros(m.in); err != nil {
			return 0, err
		}
		if err := m.unzip.Reset(m.in); err != nil {
			return 0, fmt.Errorf("gzip: behind the last member: %w", err)
		}
		m.unzip.Multistream(false)
	}
}

// frames reads the frames of a zstd file.
type frames struct {
	in    *bufio.Reader
	unzip *zstd.Decoder
	zeros int // last bytes of what was decompressed
}

func (f *frames) Read(p []byte) (int, error) {
	n, err := f.unzip.Read(p)
	if errors.Is(err, zstd.ErrMagicMismatch) && f.zeros >= len("\x28\xb5\x2f\xfd") {
		err = cmp.Or(skipZeros(f.in), err)
	}
	return n, err
}

// compressed is what the decompressor reads.
func (f *frames) compressed() io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := f.in.Read(p)
		if f.zeros += n; len(bytes.TrimRight(p[:n], "\x00")) > 0 {
			f.zeros = n - len(bytes.TrimRight(p[:n], "\x00"))
		}
		return n, err
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
