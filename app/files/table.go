package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRereadBytes bounds what is read twice behind quotes that nothing closes, in bytes: otherwise a file of
// such quotes would be read once for each of its lines.
const maxRereadBytes = 64 << 20

// tableReader reads the rows of a table as JSON objects. It holds no more of a row than limit bytes. Not for
// concurrent use.
type tableReader struct {
	lines     *lineReader
	separator byte
	names     []string
	limit     int

	again  []byte // lines that were read as a part of an earlier row and are read again
	reread int    // bytes that were read again, see maxRereadBytes
	number int    // of the line that was read last
	row    []byte
	text   bytes.Reader
	parser *csv.Reader
	utf8   bool // a row has letters outside of ASCII, and they are UTF-8
}

// separators of tables; Excel writes semicolons where the comma is in numbers.
const separators = "\t,;"

// newTableReader returns nil unless the first line is a header that has one of the names of a text. A line
// such as sep=; before the header, which Excel writes, names the separator.
func newTableReader(lines *lineReader, first string, text []string) (*tableReader, error) {
	among, named := separators, strings.TrimPrefix(strings.ToLower(first), "sep=")
	if len(named) == 1 && named != strings.ToLower(first) {
		if _, _, err := lines.read(); err != nil {
			return nil, err
		}
		among = named
		_, first = beginning(lines)
	}
	for _, separator := range among {
		names := headerNames(first, separator)
		if len(names) < 2 || !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(text, n) }) {
			continue
		}
		if _, _, err := lines.read(); err != nil {
			return nil, err
		}
		t := &tableReader{lines: lines, separator: byte(separator), names: names, limit: lines.limit,
			number: lines.number}
		t.parser = newParser(&t.text, separator)
		return t, nil
	}
	return nil, nil
}

func headerNames(line string, separator rune) []string {
	names, err := newParser(strings.NewReader(line), separator).Read()
	if err != nil {
		return nil
	}
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
	}
	return names
}

func newParser(in io.Reader, separator rune) *csv.Reader {
	r := csv.NewReader(in)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = separator, true, -1
	return r
}

// next returns the next row, and the line in which it begins.
func (t *tableReader) next() ([]byte, int, error) {
	for {
		first := t.number + 1
		if err := t.readRow(); err != nil {
			return nil, first, err
		}
		if len(bytes.TrimSpace(t.row)) == 0 {
			continue
		}
		value, err := t.object()
		return value, first, err
	}
}

// object returns the row as a JSON object.
func (t *tableReader) object() ([]byte, error) {
	switch {
	case utf8.Valid(t.row):
		t.utf8 = t.utf8 || !isASCII(t.row)
	case t.utf8:
		return nil, &SkipError{Cause: "not in UTF-8", Detail: "the row is not in UTF-8, as the rows before it are"}
	default:
		return nil, encodingError(t.row)
	}
	t.text.Reset(t.row)
	fields, err := t.parser.Read()
	if err != nil {
		return nil, &SkipError{Cause: "damaged row", Detail: err.Error()}
	}
	if len(fields) > len(t.names) {
		return nil, &SkipError{
			Cause:  "more fields than the header",
			Detail: fmt.Sprintf("the row has %d fields, more than the %d of the header", len(fields), len(t.names)),
		}
	}
	object := make(map[string]string, len(fields))
	for i, v := range fields {
		object[t.names[i]] = v
	}
	return marshal(object)
}

func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

// readRow reads the lines of the next row: one, or several if a quoted field has line ends.
func (t *tableReader) readRow() error {
	t.row = t.row[:0]
	q := quotes{separator: t.separator}
	size, firstLine, number := 0, 0, t.number
	for {
		line, length, err := t.readLine()
		switch {
		case errors.Is(err, io.EOF) && size > 0:
			return t.reopen(firstLine, number, "nothing closes it")
		case err != nil:
			return err
		}
		whole := length+len("\r\n") >= len(line)
		if size += length; whole {
			t.row = append(t.row, line...)
		}
		if firstLine == 0 {
			firstLine = len(line)
		}
		open, another := q.scan(line)
		switch {
		case another:
			return t.reopen(firstLine, number, fmt.Sprintf("another one opens a field in line %d", t.number))
		case size > t.limit && !open:
			return TooLong("row", size, t.limit)
		case size > t.limit:
			return t.reopen(firstLine, number,
				fmt.Sprintf("nothing closes it within the %d bytes that can be published", t.limit))
		case !open:
			return nil
		}
	}
}

// reopen returns the fault of a row with a quote that opens a field and does not close it. The lines behind
// its first one are read again, because they are rows of their own. number is that of the line before the
// row.
func (t *tableReader) reopen(firstLine, number int, why string) error {
	if rest := t.row[min(firstLine, len(t.row)):]; t.reread+len(rest) <= maxRereadBytes {
		t.reread += len(rest) + len(t.again)
		t.again = slices.Concat(rest, t.again)
		t.number = number + 1
	}
	return &SkipError{Cause: "an open quote", Detail: "a quote opens a field, and " + why}
}

// readLine returns the next line with its end, and its length without the end. A line longer than the limit is cut.
func (t *tableReader) readLine() (line []byte, length int, err error) {
	t.number++
	if len(t.again) == 0 {
		return t.lines.read()
	}
	end := bytes.IndexByte(t.again, '\n') + 1
	if end == 0 {
		end = len(t.again)
	}
	line, t.again = t.again[:end], t.again[end:]
	return line, len(bytes.TrimRight(line, "\r\n")), nil
}

// quotes follows the quotes of a row over its lines, as encoding/csv does with LazyQuotes.
type quotes struct {
	separator byte
	state     quoteState
	lines     int  // that were scanned
	opens     bool // the last quote in a quoted field looks like the beginning of a field
}

type quoteState int

const (
	fieldStart quoteState = iota
	plainField
	quotedField
	quoteInField // behind a quote in a quoted field: its end, or the first of two that stand for one
)

// scan reads one more line. open says that a quoted field goes on in the next line; another, that a field
// begins with a quote where the row is still in a quoted field that began in an earlier line.
func (q *quotes) scan(line []byte) (open, another bool) {
	before := q.separator // a line end separates fields, too
	for i, c := range line {
		switch q.state {
		case fieldStart, plainField:
			q.startOrPlain(c)
		case quotedField:
			if c == '"' {
				q.state, q.opens = quoteInField, q.lines > 0 && before == q.separator
			}
		case quoteInField:
			switch {
			case c == q.separator || c == '\n':
				q.state = fieldStart
			case c == '\r' && i+1 < len(line) && line[i+1] == '\n':
			case c == '"':
				q.state = quotedField
			case q.opens:
				return true, true
			default:
				q.state = quotedField
			}
		}
		before = c
	}
	q.lines++
	if q.state == quoteInField || q.state == plainField { // the last line has no end
		q.state = fieldStart
	}
	return q.state == quotedField, false
}

func (q *quotes) startOrPlain(c byte) {
	switch {
	case c == '"' && q.state == fieldStart:
		q.state = quotedField
	case c == q.separator || c == '\n':
		q.state = fieldStart
	case q.state == fieldStart:
		q.state = plainField
	}
}
