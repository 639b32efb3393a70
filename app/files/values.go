package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// valueReader splits a text into JSON values: values that stand one after another, and the elements of lists.
// It leaves out white space between tokens and checks no more than it needs to find the end of a value. It
// holds no more of a value than limit bytes. Behind a damaged value it goes on with the next one. Not for
// concurrent use.
type valueReader struct {
	in    *bufio.Reader
	limit int

	line   int // of the byte that was read last, counted from 1
	column int // of that byte, in bytes from 0
	newRow bool
	state  listState
	value  []byte
}

// listState says what stands before the next value.
type listState int

const (
	outside listState = iota // no list is open
	opened                   // the bracket of a list
	behind                   // an element
	comma                    // the comma behind an element
)

var errListWithoutEnd = fmt.Errorf("the list has no end: %w", io.ErrUnexpectedEOF)

// errValueWithoutEnd is returned in the line in which the value begins.
var errValueWithoutEnd = fmt.Errorf("a value begins here that has no end: %w", io.ErrUnexpectedEOF)

func damaged(detail string) *SkipError { return &SkipError{Cause: "damaged JSON", Detail: detail} }

// readByte returns the next byte and counts lines and columns.
func (v *valueReader) readByte() (byte, error) {
	c, err := v.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if v.column++; v.newRow {
		v.line, v.column = v.line+1, 0
	}
	v.newRow = c == '\n'
	return c, nil
}

// unread lets readByte return the last byte again.
func (v *valueReader) unread() {
	_ = v.in.UnreadByte() // fails only if no byte was read
	v.column, v.newRow = v.column-1, false
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// next returns the next value and the line in which it begins. The value is valid until the next call.
func (v *valueReader) next() ([]byte, int, error) {
	for {
		c, err := v.readByte()
		switch {
		case errors.Is(err, io.EOF) && v.state != outside:
			v.state = outside
			return nil, v.line, errListWithoutEnd
		case err != nil:
			return nil, v.line, err
		case isSpace(c):
		case c == '[' && v.state == outside:
			v.state = opened
		case c == ',' && v.state == behind:
			v.state = comma
		case c == ']' && v.state == comma:
			v.state = outside
			return nil, v.line, damaged("a comma before the end of the list")
		case c == ']' && v.state != outside:
			v.state = outside
		case c == ',', c == ']', c == '}', c == ':':
			return nil, v.line, damaged(fmt.Sprintf("%q stands where a value belongs", c))
		case v.state == behind:
			v.unread()
			v.state = comma
			return nil, v.line, damaged("no comma stands before this value")
		default:
			if v.state != outside {
				v.state = behind
			}
			line := v.line
			value, err := v.read(c)
			return value, line, err
		}
	}
}

// read returns the value that begins with c.
func (v *valueReader) read(c byte) ([]byte, error) {
	s := scan{limit: v.limit, value: v.value[:0]}
	column := v.column
	defer func() { v.value = s.value }()
	for {
		switch s.take(c) {
		case ended:
			return s.result()
		case endedBefore:
			v.unread()
			return s.result()
		case broken:
			return nil, v.damaged(c, column)
		}
		v.readText(&s)
		var err error
		if c, err = v.readByte(); errors.Is(err, io.EOF) {
			if s.isScalar() {
				return s.result()
			}
			return nil, errValueWithoutEnd
		} else if err != nil {
			return nil, err
		}
	}
}

// readText takes the rest of a string, or of what is buffered of it, at once: most bytes of articles stand in strings.
func (v *valueReader) readText(s *scan) {
	if !s.inText || s.escaped {
		return
	}
	text, _ := v.in.Peek(v.in.Buffered())
	if end := bytes.IndexAny(text, "\"\\\n"); end >= 0 {
		text = text[:end]
	}
	s.size += len(text)
	s.value = append(s.value, text[:min(len(text), max(0, s.limit+1-len(s.value)))]...)
	v.column += len(text)
	_, _ = v.in.Discard(len(text)) // all of it is buffered
}

// damaged returns the fault of a value that begins in a column and in which c cannot stand. It moves to where
// the next value may begin.
func (v *valueReader) damaged(c byte, column int) error {
	if v.state == behind && c != ']' {
		v.state = comma
	}
	if c != '\n' {
		v.unread()
		return damaged(fmt.Sprintf("%q stands in the middle of a value", c))
	}
	// The line end is in a string: beginnings and ends of strings cannot be told apart any more.
	if err := v.skipTo(column); err != nil && !errors.Is(err, io.EOF) { // next returns io.EOF again
		return err
	}
	return damaged("a string has no end in its line")
}

// skipTo skips lines up to one in which a value begins, or the list ends, no deeper than at column: the
// damaged value began there, and values within it stand deeper. The end of the damaged value and a comma may
// stand before the next value.
func (v *valueReader) skipTo(column int) error {
	for {
		c, err := v.readByte()
		for err == nil && (isSpace(c) || c == ',') {
			c, err = v.readByte()
		}
		if err == nil && c == '}' && v.column <= column {
			column = v.column + len("}, {")
			continue
		}
		if err == nil && v.column <= column && (c == '{' || c == ']' && v.state != outside) {
			if v.unread(); c == ']' {
				v.state = behind
			}
			return nil
		}
		for err == nil && c != '\n' {
			c, err = v.readByte()
		}
		if err != nil {
			return err
		}
	}
}

// scan is the state in one value.
type scan struct {
	limit   int
	value   []byte // the first limit+1 bytes of the value
	size    int    // bytes of the value
	stack   []byte // the brackets that are open; of very many, the first
	deeper  int    // open brackets that are not on the stack
	last    byte   // the last byte that is no white space; '"' is a string
	space   bool   // white space stands behind last
	inText  bool   // in a string
	escaped bool   // behind a backslash
}

// taken is the answer to one byte.
type taken int

const (
	more        taken = iota
	ended             // the byte ends the value
	endedBefore       // the value has ended before the byte
	broken            // the byte cannot stand here, and no reading of the value makes sense
)

func (s *scan) isScalar() bool { return len(s.stack) == 0 && !s.inText }

func (s *scan) result() ([]byte, error) {
	if s.size > s.limit {
		return nil, TooLong("article", s.size, s.limit)
	}
	return s.value, nil
}

func (s *scan) add(c byte) {
	if s.size++; len(s.value) <= s.limit {
		s.value = append(s.value, c)
	}
}

func isWord(c byte) bool { return c != 0 && !bytes.ContainsRune([]byte(`{}[],:"`), rune(c)) }

func (s *scan) take(c byte) taken {
	switch {
	case s.inText:
		return s.takeText(c)
	case isSpace(c) && s.isScalar():
		return endedBefore
	case isSpace(c):
		s.space = true
		return more
	case s.isScalar() && s.last != 0 && !isWord(c):
		return endedBefore
	}
	if s.space && isWord(s.last) && isWord(c) {
		s.add(' ') // two words stay two words
	}
	s.space = false
	before := s.last
	s.last = c
	switch c {
	case '"':
		s.inText = true
	case '{', '[':
		if c == '{' && before != ':' && s.in('{') {
			return broken // only a name can stand there: the value has no end, and another one begins
		}
		s.push(c)
	case '}', ']':
		return s.close(c)
	}
	s.add(c)
	return more
}

func (s *scan) takeText(c byte) taken {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inText = false
		if s.add(c); len(s.stack) == 0 {
			return ended
		}
		return more
	}
	if c == '\n' {
		return broken // JSON has no line ends in strings
	}
	s.add(c)
	return more
}

// in says whether the innermost open bracket is the given one.
func (s *scan) in(bracket byte) bool {
	return s.deeper == 0 && len(s.stack) > 0 && s.stack[len(s.stack)-1] == bracket
}

func (s *scan) push(c byte) {
	if len(s.stack) > s.limit {
		s.deeper++
		return
	}
	s.stack = append(s.stack, c)
}

// close closes the innermost bracket that c fits, and those within it: the value is damaged then, but its end is found.
func (s *scan) close(c byte) taken {
	if s.add(c); s.deeper > 0 {
		s.deeper--
		return more
	}
	opening := byte('{')
	if c == ']' {
		opening = '['
	}
	at := bytes.LastIndexByte(s.stack, opening)
	if at < 0 {
		return broken
	}
	if s.stack = s.stack[:at]; at == 0 {
		return ended
	}
	return more
}
