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

	"echosieve/pipeline/decode"
)

// tableReader reads the rows of a table as JSON objects. Not for concurrent use.
//
// A row that does not fit the standard ends the file, because nobody knows where the next one begins.
type tableReader struct {
	readAhead
	parser *csv.Reader
	names  []string // of the columns, as the settings have them
	text   string   // of these, that of the text
	utf8   bool     // a row has letters outside of ASCII, and they are UTF-8
}

// separators of tables; Excel writes semicolons where the comma is in numbers.
const separators = "\t,;"

// newTableReader returns nil unless the first line is a header that has one of the names of a text. known are the
// names that count without regard to case. columns are the names of a header without a text.
func newTableReader(s *source, first string, text, known []string) (t *tableReader, columns []string) {
	for _, separator := range separators {
		header, err := newParser(strings.NewReader(first), separator).Read()
		if err != nil || len(header) < 2 {
			continue
		}
		names := inKnownCase(header, known)
		at := slices.IndexFunc(names, func(n string) bool { return slices.Contains(text, escaped.Replace(n)) })
		if at < 0 {
			columns = names
			continue
		}
		_, _ = s.ReadSlice('\n') // the next read returns the error
		s.line++
		t = &tableReader{readAhead: readAhead{source: s}, names: names, text: names[at]}
		t.parser = newParser(&t.readAhead, separator)
		return t, nil
	}
	return nil, columns
}

// inKnownCase returns names as the settings write them, where one name differs from them in case alone.
func inKnownCase(header, known []string) (names []string) {
	times := map[string]int{}
	for _, n := range header {
		times[lower(n)]++
	}
	for _, n := range header {
		n = strings.TrimSpace(n)
		at := slices.IndexFunc(known, func(k string) bool { return sameName(k, n) })
		if at >= 0 && !slices.Contains(known, n) && times[lower(n)] == 1 {
			n = known[at]
		}
		names = append(names, n)
	}
	return names
}

func sameName(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

func lower(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func newParser(in io.Reader, separator rune) *csv.Reader {
	r := csv.NewReader(in)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = separator, -1, true
	return r
}

// next returns the next row, and the line in which it begins.
func (t *tableReader) next() (Article, error) {
	for {
		fields, err := t.parser.Read()
		for i := range fields {
			if t.unquoted {
				fields[i] = strings.ReplaceAll(fields[i], noQuote, `"`)
			}
		}
		row, line := t.cut(t.parser.InputOffset())
		text := bytes.TrimLeft(row, "\r\n\x00"+byteOrderMark)
		a := Article{Place: line + bytes.Count(row[:len(row)-len(text)], []byte{'\n'}), Idle: t.drained()}
		switch {
		case errors.Is(err, errNoEnd):
			t.unread = len(row) + len(t.kept)
			return a, fmt.Errorf("a row begins here that has no end within %d bytes: perhaps nothing closes a quote", t.most())
		case errors.Is(err, csv.ErrBareQuote):
			t.unread = len(row) + len(t.kept)
			return a, errors.New(`a quote stands in a field of this row that begins with none: write "" for it, and quotes ` +
				"around the field, or read a file without quoting by --unquoted")
		case errors.Is(err, csv.ErrQuote):
			t.unread = len(row) + len(t.kept)
			return a, t.openQuote(text)
		case err != nil:
			return a, err
		}
		fields[0] = strings.TrimLeft(fields[0], "\x00"+byteOrderMark)
		if len(fields) == 1 && strings.Trim(fields[0], blank) == "" ||
			slices.EqualFunc(fields, t.names, sameName) {
			continue // the header of the next one of joined files is no article, either
		}
		if t.isHeader(fields) {
			return a, errors.New("another header begins here, with other columns or in another order: name the files " +
				"that were joined, one by one")
		}
		a.Value, err = t.object(fields, row)
		return a, err
	}
}

// isHeader says whether a row holds the names of two columns, one of them that of the text.
func (t *tableReader) isHeader(row []string) bool {
	names, text := 0, false
	for _, f := range row {
		if len(f) <= longestName && slices.ContainsFunc(t.names, func(n string) bool { return n != "" && sameName(n, f) }) {
			names, text = names+1, text || sameName(t.text, f)
		}
	}
	return text && names > 1 && len(row) <= len(t.names)
}

// openQuote says that nobody knows where a row ends.
func (t *tableReader) openQuote(row []byte) error {
	said := `a quote opens a field in this row, and no quote before a separator or a line end closes it: write "" for ` +
		"quotes in a field, or read a file without quoting by --unquoted"
	if bytes.Contains(row, []byte(`\"`)) {
		said = fmt.Sprintf(`the row has \" for a quote in a field, in place of "": type python3 -c 'import csv, sys; `+
			`csv.field_size_limit(2**30); csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter=%q, `+
			`escapechar="\\", doublequote=False))' < FILE and pipe it into this command`, string(t.parser.Comma))
	}
	return errors.New(said)
}

// nulls are what programs write into a cell that holds nothing: MySQL and PostgreSQL, and Python.
var nulls = []string{`\N`, "NULL", "nan"}

// object returns a row as a JSON object.
func (t *tableReader) object(fields []string, row []byte) ([]byte, error) {
	switch {
	case utf8.Valid(row):
		t.utf8 = t.utf8 || utf8.RuneCount(row) < len(row)
	case t.utf8:
		return nil, &SkipError{Cause: "not in UTF-8", Detail: "the row is not in UTF-8, as the rows before it are"}
	default:
		return nil, errEncoding
	}
	if len(fields) > len(t.names) {
		return nil, &SkipError{Cause: "more fields than the header",
			Detail: fmt.Sprintf("the row has %d fields, more than the %d of the header", len(fields), len(t.names))}
	}
	object := make(map[string]string, len(fields))
	for i, v := range fields {
		if slices.Contains(nulls, v) {
			v = ""
		}
		object[t.names[i]] = v
	}
	return decode.AppendJSON(nil, object)
}
