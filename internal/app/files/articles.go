package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"echosieve/pipeline"

	"github.com/tidwall/gjson"
)

// ArticleReader reads the articles of a file as JSON objects. It recognises JSON Lines, JSON lists, JSON over several lines, Elasticsearch's
// bulk format, the output of kcat -J, CSV and TSV with a header, and WARC. Not for concurrent use.
type ArticleReader struct {
	*lineReader
	next   func() ([]byte, error)
	ahead  bool // next reads more than it returns
	number int
	at     time.Time
}

// otherForms are the beginnings of files that are not read, and what to do instead.
var otherForms = []struct{ prefix, form, remedy string }{
	{"BZh", "bzip2", "type bunzip2 -c FILE and pipe it into this command"},
	{"\xfd7zXZ\x00", "xz", "type xz -dc FILE and pipe it into this command"},
	{"PK\x03\x04", "a zip file", "type unzip -p FILE and pipe it into this command"},
	{"PAR1", "Parquet", "type duckdb -c \"COPY (FROM 'FILE') TO '/dev/stdout' (FORMAT json)\" and pipe it into this command"},
	{"Obj\x01", "an Avro file", "type avro-tools tojson FILE and pipe it into this command"},
	{"<?xml", "XML, perhaps a feed", "let a program that reads feeds write one JSON object a line"},
	{"<rss", "a feed", "let a program that reads feeds write one JSON object a line"},
	{"<feed", "a feed", "let a program that reads feeds write one JSON object a line"},
}

// NewArticleReader reads from r. input says under which names the articles have their text. For an article longer than limit bytes Next
// returns a *LineTooLongError. The caller calls Close.
func NewArticleReader(r io.Reader, limit int, input pipeline.DecodeConfig) (*ArticleReader, error) {
	lines, err := newLineReader(r, limit)
	if err != nil {
		return nil, err
	}
	a := &ArticleReader{lineReader: lines}
	if input.Format != pipeline.FormatJSON {
		return a, nil
	}
	start, first := beginning(lines.in)
	for _, f := range otherForms {
		if bytes.HasPrefix(start, []byte(f.prefix)) {
			lines.Close()
			return nil, fmt.Errorf("this is %s: %s", f.form, f.remedy)
		}
	}
	switch {
	case bytes.HasPrefix(start, []byte("[")), strings.HasPrefix(first, "{") && !gjson.Valid(first) && endsBetweenTokens(first):
		a.next, a.ahead = values(json.NewDecoder(lines.in)), true
	case bytes.HasPrefix(start, []byte("WARC/")):
		a.next = (&warcReader{in: lines.in, limit: limit, at: &a.at}).next
	case isBulk(first):
		a.next = a.bulk
	case gjson.Valid(first) && gjson.Get(first, "payload").Type == gjson.String && gjson.Get(first, "offset").Exists():
		a.next = a.kcat
	case !strings.HasPrefix(first, "{"):
		a.next, err = table(lines.in, first, input.Fields.Text)
	}
	return a, err
}

// beginning leaves out a byte order mark and returns the first bytes that are no white space, and the first line of them: as much of it as the
// buffer can hold. It waits for the end of that line, because a pipe may bring it in parts.
func beginning(in *bufio.Reader) (start []byte, line string) {
	if start, _ = in.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark))
	}
	for {
		start, _ = in.Peek(in.Buffered())
		start = bytes.TrimLeft(start, " \t\r\n")
		first, _, whole := bytes.Cut(start, []byte("\n"))
		if !whole {
			if _, err := in.Peek(in.Buffered() + 1); err == nil {
				continue
			}
		}
		return start, string(bytes.TrimSpace(first))
	}
}

// endsBetweenTokens says whether a line that is no JSON value by itself may be the first line of one: it has no fault, and does not end
// in a string, as a line does that was cut off.
func endsBetweenTokens(line string) bool {
	d := json.NewDecoder(strings.NewReader(line))
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF) // io.ErrUnexpectedEOF is the end within a token
		}
	}
}

// Next returns the next article and its number in the file: that of its line, if each line is one. The article is valid until the next call.
// After a *LineTooLongError the next call goes on behind that article. io.EOF ends the file.
func (a *ArticleReader) Next() ([]byte, int, error) {
	if a.next == nil {
		return a.lineReader.Next()
	}
	value, err := a.next()
	a.number++
	if err == nil && len(value) > a.limit {
		err = &LineTooLongError{len(value), a.limit}
	}
	return value, a.number, err
}

// Time is when the article was fetched; zero if the file does not say so.
func (a *ArticleReader) Time() time.Time { return a.at }

// Idle tells whether Next may have to wait for its input. A reader that reads ahead never says so.
func (a *ArticleReader) Idle() bool { return !a.ahead && a.lineReader.Idle() }

// values returns JSON values one after another, each in one line. Of a list it returns the elements.
func values(d *json.Decoder) func() ([]byte, error) {
	inList := false
	return func() ([]byte, error) {
		for !d.More() || !inList && opensList(d) {
			token, err := d.Token()
			switch {
			case errors.Is(err, io.EOF) && inList:
				return nil, errListWithoutEnd
			case errors.Is(err, io.EOF):
				return nil, io.EOF
			case err != nil:
				return nil, fmt.Errorf("byte %d: %w", d.InputOffset(), err)
			}
			inList = token == json.Delim('[')
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return nil, errListWithoutEnd // behind a comma
		} else if err != nil {
			return nil, fmt.Errorf("byte %d: %w", d.InputOffset(), err)
		}
		var line bytes.Buffer
		err := json.Compact(&line, raw)
		return line.Bytes(), err
	}
}

// errListWithoutEnd is no io.EOF: the rest of the list is missing.
var errListWithoutEnd = fmt.Errorf("the list has no end: %w", io.ErrUnexpectedEOF)

// opensList says whether a list begins where d stands. More has skipped the white space before it.
func opensList(d *json.Decoder) bool {
	var next [1]byte
	_, _ = d.Buffered().Read(next[:])
	return next[0] == '['
}

// isBulk says whether a line is an action of Elasticsearch's bulk format, behind which an article stands.
func isBulk(line string) bool {
	for _, action := range []string{"index", "create"} {
		if v := gjson.Get(line, action); v.IsObject() && gjson.Valid(line) {
			return len(gjson.Parse(line).Map()) == 1
		}
	}
	return false
}

func (a *ArticleReader) bulk() ([]byte, error) {
	for {
		line, _, err := a.lineReader.Next()
		if err != nil || !isBulk(string(line)) {
			return line, err
		}
	}
}

func (a *ArticleReader) kcat() ([]byte, error) {
	line, _, err := a.lineReader.Next()
	if payload := gjson.GetBytes(line, "payload"); err == nil && payload.Type == gjson.String {
		return []byte(payload.Str), nil
	}
	return line, err
}

// table returns the rows of a table as objects, if the first line is a header that has one of the names of a text; nil if it has none.
func table(in io.Reader, header string, text []string) (func() ([]byte, error), error) {
	for _, separator := range "\t,;" {
		r := csv.NewReader(strings.NewReader(header))
		r.Comma, r.LazyQuotes = separator, true
		names, err := r.Read()
		if err != nil || len(names) < 2 || !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(text, n) }) {
			continue
		}
		r = csv.NewReader(in)
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = separator, true, -1
		if _, err := r.Read(); err != nil {
			return nil, err
		}
		return func() ([]byte, error) {
			row, err := r.Read()
			if err != nil {
				return nil, err
			}
			if len(row) > len(names) {
				return nil, errors.New("a row has more fields than the header")
			}
			object := make(map[string]string, len(row))
			for i, v := range row {
				object[names[i]] = v
			}
			return json.Marshal(object)
		}, nil
	}
	return nil, nil
}
