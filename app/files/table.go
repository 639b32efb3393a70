package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// tableReader reads the rows of a table as JSON objects. Not for concurrent use.
//
// encoding/csv reads strictly. A row with a quote that is not doubled is read again as spreadsheets read it,
// unless the quote looks like the beginning of a field while another one is open: then a quote before it was
// never closed. That, and a quote that nothing closes, ends the file, because nobody knows where rows begin.
type tableReader struct {
	rows      *rowSource
	separator byte
	names     []string
	parser    *csv.Reader
	utf8      bool // a row has letters outside of ASCII, and they are UTF-8
}

// separators of tables; Excel writes semicolons where the comma is in numbers.
const separators = "\t,;"

// endMark is a row behind the last one: a field that holds it has no end.
const endMark = "\x00end\x00"

// newTableReader returns nil unless the first line is a header that has one of the names of a text. A line
// such as sep=; before the header, which Excel writes, names the separator. known are the names that count
// without regard to case. columns are the names of a header without a text.
func newTableReader(s source, first string, text, known []string) (t *tableReader, columns []string) {
	rows := &rowSource{source: s, end: '\n'}
	// A line end of its own, as old programs of the Macintosh write it.
	if i := strings.IndexByte(first, '\r'); i >= 0 {
		rows.end, first = '\r', first[:i]
	}
	among, named := separators, strings.TrimPrefix(strings.ToLower(first), "sep=")
	if len(named) == 1 && named != strings.ToLower(first) {
		rows.skip()
		among = named
		_, first = beginning(&rows.source)
	}
	for _, separator := range among {
		names, err := newParser(strings.NewReader(first), separator).Read()
		if err != nil || len(names) < 2 {
			continue
		}
		for i, name := range names {
			names[i] = strings.TrimSpace(name)
		}
		names = inKnownCase(names, known)
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(text, n) }) {
			columns = names
			continue
		}
		rows.skip()
		return &tableReader{rows: rows, separator: byte(separator), names: names, parser: newParser(rows, separator)}, nil
	}
	return nil, columns
}

// inKnownCase returns names as the settings write them, where they differ in case alone.
func inKnownCase(names, known []string) []string {
	out := slices.Clone(names)
	for i, n := range out {
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, n) })
		if at >= 0 && !slices.Contains(known, n) && !slices.Contains(out, known[at]) {
			out[i] = known[at]
		}
	}
	return out
}

func newParser(in io.Reader, separator rune) *csv.Reader {
	r := csv.NewReader(in)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = separator, -1, true
	return r
}

// next returns the next row, and the line in which it begins.
func (t *tableReader) next() (Article, error) {
	for {
		t.rows.begin()
		fields, err := t.parser.Read()
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			fields, err = t.again(parse)
		}
		a := Article{Place: t.rows.first()}
		switch {
		case err == nil && fields[0] == endMark:
			return a, io.EOF
		case err != nil:
			return a, err
		case len(fields) == 1 && strings.Trim(fields[0], blank) == "", slices.Equal(fields, t.names):
			continue // the header of the next one of joined files is no article, either
		}
		a.Value, err = t.object(fields)
		return a, err
	}
}

var errOpenQuote = errors.New("a quote opens a field in this row and nothing closes it")

// again reads a row again that does not fit the standard.
func (t *tableReader) again(why *csv.ParseError) ([]string, error) {
	switch {
	case t.rows.escaped:
		return nil, errors.New(`a quote has no end; \" was read as a quote since a row that begins so`)
	case bytes.Contains(t.rows.row, []byte(`\"`)):
		t.rows.escaped = true // for the rest of the file
	case t.rows.ended:
		return nil, errOpenQuote
	case errors.Is(why.Err, csv.ErrQuote) && why.Line > why.StartLine && t.opensField(why):
		return nil, fmt.Errorf("%w: another one opens a field in line %d", errOpenQuote, t.rows.first()+why.Line-why.StartLine)
	default:
		t.parser.LazyQuotes = true
		defer func() { t.parser.LazyQuotes = false }()
	}
	t.rows.unread()
	fields, err := t.parser.Read()
	if err != nil && t.rows.escaped {
		err = fmt.Errorf(`the row has quotes as \", and it cannot be read with these: %w`, err)
	}
	switch {
	case err != nil || t.rows.escaped:
	case strings.Contains(fields[len(fields)-1], endMark), t.opensBehind(why):
		err = errOpenQuote
	case len(fields) < len(t.names), len(fields) > len(t.names) && bytes.Count(t.rows.row, []byte{'\n'}) > 1:
		err = fmt.Errorf("the row has a quote that is not doubled, and %d fields in place of %d", len(fields), len(t.names))
	}
	return fields, err
}

// opensField says whether the quote of a fault looks like the beginning of a field.
func (t *tableReader) opensField(at *csv.ParseError) bool {
	lines := bytes.SplitAfter(t.rows.row, []byte{'\n'})
	if n := at.Line - at.StartLine; n < len(lines) && at.Column-1 < len(lines[n]) {
		return at.Column == 1 || lines[n][at.Column-2] == t.separator
	}
	return true // behind the end of the file
}

// opensBehind says whether a quote looks like the beginning of a field in a line behind a fault: the row that was read
// then holds rows behind it.
func (t *tableReader) opensBehind(at *csv.ParseError) bool {
	lines := bytes.SplitAfter(t.rows.row, []byte{'\n'})
	for _, line := range lines[min(at.Line-at.StartLine+1, len(lines)):] {
		if line = bytes.TrimLeft(line, " "); bytes.HasPrefix(line, []byte{'"'}) ||
			bytes.Contains(line, []byte{t.separator, '"'}) {
			return true
		}
	}
	return false
}

// object returns a row as a JSON object.
func (t *tableReader) object(fields []string) ([]byte, error) {
	row := t.rows.row
	switch ascii := !slices.ContainsFunc(row, func(c byte) bool { return c >= utf8.RuneSelf }); {
	case utf8.Valid(row):
		t.utf8 = t.utf8 || !ascii
	case t.utf8:
		return nil, &SkipError{Cause: "not in UTF-8", Detail: "the row is not in UTF-8, as the rows before it are"}
	default:
		return nil, encodingError(row)
	}
	if len(fields) > len(t.names) {
		detail := fmt.Sprintf("the row has %d fields, more than the %d of the header", len(fields), len(t.names))
		if bytes.Contains(row, []byte{'\\', t.separator}) {
			detail += "; a backslash stands before a separator: write fields with separators in quotes"
		}
		return nil, &SkipError{Cause: "more fields than the header", Detail: detail}
	}
	object := make(map[string]string, len(fields))
	for i, v := range fields {
		object[t.names[i]] = v
	}
	return marshal(object)
}

// rowSource hands a table to encoding/csv line by line: so it never reads further than the row needs, and the
// row is at hand as it is written.
type rowSource struct {
	source
	end     byte   // of a line
	escaped bool   // a backslash stands before quotes and backslashes
	ended   bool   // endMark was handed over
	before  int    // lines before the row
	row     []byte // what was read since begin
	pending []byte // lines that are read again
	line    []byte // what is handed over next
	number  int    // of the line that was read last
}

// begin begins a row.
func (s *rowSource) begin() { s.row, s.before = s.row[:0], s.number }

// unread lets the row be read again.
func (s *rowSource) unread() {
	s.pending, s.number, s.row = append(bytes.Clone(s.row), s.pending...), s.before, s.row[:0]
}

// first is the line in which the row begins; the parser leaves out empty lines before it.
func (s *rowSource) first() int {
	empty := len(s.row) - len(bytes.TrimLeft(s.row, "\r\n"))
	return s.before + 1 + bytes.Count(s.row[:empty], []byte{'\n'})
}

// skip skips a line that was seen already.
func (s *rowSource) skip() {
	_, _ = s.ReadSlice(s.end) // the next read returns the error
	s.source.line++
	s.number = s.source.line
}

// Read hands over a line, or a part of a line that is longer than the buffer.
func (s *rowSource) Read(p []byte) (int, error) {
	if len(s.line) == 0 {
		if err := s.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.line)
	s.line = s.line[n:]
	return n, nil
}

func (s *rowSource) fetch() error {
	part, more := s.pending, []byte(nil)
	if i := bytes.IndexByte(part, '\n') + 1; i > 0 {
		part, more = part[:i], part[i:]
	}
	s.pending = more
	if len(part) == 0 {
		var err error
		part, err = s.ReadSlice(s.end)
		switch {
		case len(part) == 0 && errors.Is(err, io.EOF) && !s.ended:
			s.ended, s.line = true, []byte("\n"+endMark+"\n")
			return nil
		case len(part) == 0 || err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		if s.end == '\r' {
			part = bytes.ReplaceAll(bytes.Clone(part), []byte{'\r'}, []byte{'\n'})
		}
	}
	if len(s.row) == 0 {
		part = bytes.TrimPrefix(bytes.TrimLeft(part, "\x00"), []byte(byteOrderMark))
	}
	if bytes.HasSuffix(part, []byte{'\n'}) {
		s.number++
	}
	s.row = append(s.row, part...)
	if len(s.row) > s.most() {
		return fmt.Errorf("a row begins here that has no end within %d bytes: perhaps nothing closes a quote", s.most())
	}
	if s.line = part; s.escaped {
		s.line = doubled(part)
	}
	if len(s.line) == 0 {
		return s.fetch()
	}
	return nil
}

// doubled returns a line with quotes as the standard has them, where a backslash stood before them.
func doubled(line []byte) []byte {
	out := make([]byte, 0, len(line)+8)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			switch line[i+1] {
			case '"':
				out = append(out, `""`...)
				i++
				continue
			case '\\', '\n', '\r': // MySQL writes a line end so
				i++
			}
		}
		out = append(out, line[i])
	}
	return out
}
