package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"echosieve/pipeline/decode"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	lineBufferBytes = 256 << 10
	maxZstdWindow   = 128 << 20 // the zstd tool decompresses no larger window without --long
	byteOrderMark   = "\ufeff"

	// blank is what means nothing before and behind a record: white space, the separator of RFC 7464, the marks
	// of joined files, and zero bytes, which a crash leaves where a file system had made room.
	blank = " \t\r\n\x00\x1e" + byteOrderMark
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
		unzip.Multistream(false)
		return bufio.NewReaderSize(&members{in, unzip}, lineBufferBytes), func() {}, nil
	case decode.CompressionZstd:
		unzip, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return bufio.NewReaderSize(unzip, lineBufferBytes), unzip.Close, nil
	}
	return in, func() {}, nil
}

// members reads the members of a gzip file. Zero bytes behind the last one mean nothing, as for gzip: tapes and
// block devices fill their blocks.
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
		c, err := m.in.ReadByte()
		for err == nil && c == 0 {
			c, err = m.in.ReadByte()
		}
		if err != nil {
			return 0, err
		}
		if err := errors.Join(m.in.UnreadByte(), m.unzip.Reset(m.in)); err != nil {
			return 0, fmt.Errorf("gzip: behind the last member: %w", err)
		}
		m.unzip.Multistream(false)
	}
}

// lineReader reads the lines of a text. It never holds more than the longest line allowed, whatever the text is.
// Not for concurrent use.
type lineReader struct {
	source
	text []byte
}

// next returns the next line that is not blank, without what is blank around it. For a line longer than the
// limit it returns a *SkipError, and goes on behind it. io.EOF ends the text.
func (l *lineReader) next() (Article, error) {
	for {
		text, length, err := l.read()
		a := Article{Place: l.line, Value: bytes.TrimRight(text, blank)}
		switch {
		case err != nil:
			return Article{Place: l.line}, err
		case length > l.limit:
			return a, TooLong("line", text, length, l.limit)
		case len(a.Value) > 0:
			return a, nil
		}
	}
}

// read returns one line without what is blank before it, and its length without its end, in bytes. A line that
// is too long is cut at the limit.
func (l *lineReader) read() ([]byte, int, error) {
	l.text = l.text[:0]
	length := 0
	for begun := false; ; begun = true {
		part, err := l.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, io.EOF) && (begun || len(part) > 0):
			l.line++ // the last line may have no end
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
		if length == 0 {
			part = bytes.TrimLeft(part, blank)
		}
		if err == nil {
			part = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
		}
		length += len(part)
		l.text = append(l.text, part[:min(max(0, l.limit-len(l.text)), len(part))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.text, length, nil
		}
	}
}

// notNumbers are constants that JSON does not have and Python's json writes. The longest come first.
var notNumbers = [][]byte{[]byte("-Infinity"), []byte("Infinity"), []byte("NaN")}

// withoutNaN returns a value in which null stands where Python has written NaN or Infinity, and how many there were.
func withoutNaN(value []byte) (plain []byte, n int) {
	inString := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case inString && c == '\\' && i+1 < len(value):
			plain = append(plain, c)
			i++
			c = value[i]
		case c == '"':
			inString = !inString
		case !inString && (c == '-' || c == 'I' || c == 'N'):
			at := slices.IndexFunc(notNumbers, func(word []byte) bool { return bytes.HasPrefix(value[i:], word) })
			if at >= 0 {
				plain, i, n = append(plain, "null"...), i+len(notNumbers[at])-1, n+1
				continue
			}
		}
		plain = append(plain, c)
	}
	return plain, n
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
	text, done, err := decompressed(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	lines := &lineReader{source: source{Reader: text, limit: longestLine}}
	for ctx.Err() == nil {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(line.Value)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, line.Place, err)
		}
	}
	return fmt.Errorf("interrupted: %w", context.Cause(ctx))
}
