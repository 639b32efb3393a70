package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

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
