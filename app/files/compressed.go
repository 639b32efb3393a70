package files

import (
	"bufio"
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
// which. done frees the decompressor.
func decompressed(r io.Reader) (text *bufio.Reader, done func(), err error) {
	in := bufio.NewReaderSize(r, lineBufferBytes)
	start, _ := in.Peek(4) // reading returns the error, if there is one
	switch decode.CompressionOf(start) {
	case decode.CompressionGzip:
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return bufio.NewReaderSize(unzip, lineBufferBytes), func() {}, nil
	case decode.CompressionZstd:
		unzip, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return bufio.NewReaderSize(unzip, lineBufferBytes), unzip.Close, nil
	}
	return in, func() {}, nil
}

// explainBehind returns the error with its remedy if it is about what stands behind compressed data: zero bytes with
// which tapes and block devices fill their blocks, for example.
func explainBehind(err error) error {
	for program, behind := range map[string]error{"gzip": gzip.ErrHeader, "zstd": zstd.ErrMagicMismatch} {
		if errors.Is(err, behind) {
			return fmt.Errorf("something else stands behind the compressed data (%w): type %s -dc FILE and pipe it into "+
				"this command", err, program)
		}
	}
	return err
}
