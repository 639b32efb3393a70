package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"echosieve/pipeline/decode"
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
			return fmt.Errorf("something else stands behind the compressed data (%w): type %s -dc FILE"+pipe, err, program)
		}
	}
	return err
}

// source is a file with the bounds of what is read of it.
type source struct {
	*bufio.Reader
	limit int
	line  int // number of the last line that was read
	// unread is how many bytes that were read ahead stand behind the place at which damage ends the file.
	unread int
}

// most is the length of a piece from which on the file is damaged.
func (s *source) most() int { return damageFactor*s.limit + lineBufferBytes }

// readAhead hands a file to a parser, and keeps what the parser has got since the last cut. A piece that has no end
// within the length that is read fails with errNoEnd, so it takes bounded memory.
type readAhead struct {
	*source
	unquoted bool // the parser gets noQuote for quotes
	kept     []byte
	begin    int64 // offset of kept, as the parser counts
}

// noQuote stands for a quote of a table without quoting: a byte that UTF-8 does not have.
const noQuote = "\xff"

var errNoEnd = errors.New("it has no end within the length that is read")

func (w *readAhead) Read(p []byte) (int, error) {
	room := w.most() - len(w.kept)
	if room <= 0 {
		return 0, errNoEnd
	}
	n, err := w.Reader.Read(p[:min(len(p), room)])
	w.kept = append(w.kept, p[:n]...)
	if w.unquoted {
		copy(p, bytes.ReplaceAll(p[:n], []byte{'"'}, []byte(noQuote)))
	}
	return n, err
}

// cut returns what stands before an offset, valid until the next read, and the line in which that begins.
func (w *readAhead) cut(offset int64) (piece []byte, line int) {
	piece, line = w.kept[:offset-w.begin], w.line+1
	w.kept, w.begin, w.line = w.kept[len(piece):], offset, w.line+bytes.Count(piece, []byte{'\n'})
	return piece, line
}

// drained says whether the reader may have to wait for the next piece: the bytes that it keeps are no more than a comma
// and a line end behind the last one.
func (w *readAhead) drained() bool { return w.Buffered() == 0 && len(w.kept) < len(",\r\n") }

// pipe ends a remedy that prints what is read.
const pipe = " and pipe it into this command"

var errEncoding = errors.New("the file is not in UTF-8: save it in UTF-8, or type iconv -f GB18030 -t UTF-8 FILE, " +
	"with its encoding in place of GB18030," + pipe)

const (
	byteOrderMark = "\ufeff"

	// blank is what means nothing before and behind a record: white space, the separator of RFC 7464, the marks
	// of joined files, and zero bytes, which a crash leaves where a file system had made room.
	blank = " \t\r\n\x00\x1e" + byteOrderMark
)

// lineReader reads the lines of a text. It never holds more than the longest line allowed, whatever the text is.
// Not for concurrent use.
type lineReader struct {
	*source
	text []byte
}

// next returns the next line that is not blank, without what is blank around it. For a line longer than the
// limit it returns a *SkipError, and goes on behind it. io.EOF ends the text.
func (l *lineReader) next() (Article, error) {
	for {
		text, length, err := l.read()
		a := Article{Place: l.line, Value: bytes.TrimRight(text, blank), Idle: err == nil && l.Buffered() == 0}
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
