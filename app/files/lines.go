package files

import (
	"bufio"
	"bytes"
	"context"
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
	byteOrderMark   = "\ufeff"
)

// lineReader reads the lines of a text that is plain or compressed with gzip or zstd; the first bytes of the
// text say which. It never holds more than the longest line allowed, whatever the input is. Not for
// concurrent use.
type lineReader struct {
	in     *bufio.Reader
	close  func()
	limit  int
	line   []byte
	number int
}

// newLineReader reads from r. For a line longer than limit bytes Next returns a *SkipError. The caller calls Close.
func newLineReader(r io.Reader, limit int) (*lineReader, error) {
	in := bufio.NewReaderSize(r, lineBufferBytes)
	l := &lineReader{in: in, close: func() {}, limit: limit}
	start, _ := in.Peek(4) // Next returns the error, if there is one
	switch decode.CompressionOf(start) {
	case decode.CompressionGzip:
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		l.in = bufio.NewReaderSize(unzip, lineBufferBytes)
	case decode.CompressionZstd:
		unzip, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		l.in, l.close = bufio.NewReaderSize(unzip, lineBufferBytes), unzip.Close
	}
	return l, nil
}

// Close frees the decompressor; the underlying reader stays open.
func (l *lineReader) Close() { l.close() }

// Idle tells whether Next may have to wait for its input, because nothing is buffered.
func (l *lineReader) Idle() bool { return l.in.Buffered() == 0 }

// Next returns the next line that is not blank, without its end (LF or CRLF), and its number, counted from 1.
// The line is valid until the next call. After a *SkipError the next call goes on behind that line. io.EOF
// ends the text.
func (l *lineReader) Next() ([]byte, int, error) {
	for {
		line, length, err := l.read()
		if err != nil {
			return nil, l.number, err
		}
		if length > l.limit {
			return nil, l.number, TooLong("line", length, l.limit)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, l.number, nil
		}
	}
}

// read returns one line with its end, and the length of the line without its end, in bytes. A line that is
// too long is cut at the limit.
func (l *lineReader) read() ([]byte, int, error) {
	l.line = l.line[:0]
	length := 0
	for {
		part, err := l.in.ReadSlice('\n')
		if length == 0 && l.number == 0 {
			part = bytes.TrimPrefix(part, []byte(byteOrderMark))
		}
		length += len(part)
		if room := l.limit + len("\r\n") - len(l.line); room > 0 {
			l.line = append(l.line, part[:min(room, len(part))]...)
		}
		switch {
		case err == nil:
			l.number++
			length -= len("\n")
			if bytes.HasSuffix(part, []byte("\r\n")) {
				length--
			}
			return l.line, length, nil
		case errors.Is(err, bufio.ErrBufferFull):
			// more of the same line
		case errors.Is(err, io.EOF) && length > 0:
			l.number++ // the last line has no end
			return l.line, length, nil
		default:
			return nil, 0, err
		}
	}
}

// longestLine is the longest line that EachLine reads, in bytes.
const longestLine = 64 << 20

// EachLine calls f with every line of a file that is not blank, until f fails or ctx ends. holds says what
// the file holds, see Open. An error says in which line it is.
func EachLine(ctx context.Context, name, holds string, f func(line []byte) error) error {
	file, err := Open(name, holds)
	if err != nil {
		return err
	}
	defer file.Close()
	lines, err := newLineReader(file, longestLine)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer lines.Close()
	for ctx.Err() == nil {
		line, number, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return fmt.Errorf("interrupted: %w", context.Cause(ctx))
}
