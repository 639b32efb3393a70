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
	// unread is how many bytes that were read ahead stand behind the place at which damage ends the file.
	unread int
}

// most is the length of a piece from which on the file is damaged.
func (s *source) most() int { return damageFactor*s.limit + lineBufferBytes }

// window hands a file to a parser, and keeps what the parser has got since the last cut. A piece that has no end within
// the length that is read fails with errNoEnd, so it takes bounded memory.
type window struct {
	*source
	unquoted bool // the parser gets noQuote for quotes
	kept     []byte
	begin    int64 // offset of kept, as the parser counts
}

// noQuote stands for a quote of a table without quoting: a byte that UTF-8 does not have.
const noQuote = "\xff"

var errNoEnd = errors.New("it has no end within the length that is read")

func (w *window) Read(p []byte) (int, error) {
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
func (w *window) cut(offset int64) (piece []byte, line int) {
	piece, line = w.kept[:offset-w.begin], w.line+1
	w.kept, w.begin, w.line = w.kept[len(piece):], offset, w.line+bytes.Count(piece, []byte{'\n'})
	return piece, line
}

// drained says whether the reader may have to wait for the next piece: the bytes that it keeps are no more than a comma
// and a line end behind the last one.
func (w *window) drained() bool { return w.Buffered() == 0 && len(w.kept) < len(",\r\n") }
