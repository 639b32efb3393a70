package files

import (
	"bufio"
	"bytes"
	"errors"
)

// source is a file with the bounds of what is read of it.
type source struct {
	*bufio.Reader
	limit int
	line  int // number of the last line that was read
}

// most is the length of a piece from which on the file is damaged.
func (s *source) most() int { return damageFactor*s.limit + lineBufferBytes }

// skip skips a line that was seen already.
func (s *source) skip(end byte) {
	_, _ = s.ReadSlice(end) // the next read returns the error
	s.line++
}

// window hands a file to a parser, and keeps what the parser has got since the last cut. A piece that has no end within
// the length that is read fails with errNoEnd, so it takes bounded memory.
type window struct {
	*source
	carriage bool // lines end in CR alone
	kept     []byte
	begin    int64 // offset of kept, as the parser counts
}

var errNoEnd = errors.New("it has no end within the length that is read")

func (w *window) Read(p []byte) (int, error) {
	room := w.most() - len(w.kept)
	if room <= 0 {
		return 0, errNoEnd
	}
	n, err := w.Reader.Read(p[:min(len(p), room)])
	if w.carriage {
		copy(p, bytes.ReplaceAll(p[:n], []byte{'\r'}, []byte{'\n'}))
	}
	w.kept = append(w.kept, p[:n]...)
	return n, err
}

// cut returns what stands before an offset, valid until the next read, and the line in which that begins.
func (w *window) cut(offset int64) (piece []byte, line int) {
	piece, line = w.kept[:offset-w.begin], w.line+1
	w.kept, w.begin, w.line = w.kept[len(piece):], offset, w.line+bytes.Count(piece, []byte{'\n'})
	return piece, line
}

// drained says whether the reader may have to wait for the next piece: the bytes that it keeps are no more than a comma
// and a line end behind the last one.
func (w *window) drained() bool { return w.Buffered() == 0 && len(w.kept) < len(",\r\n") }
