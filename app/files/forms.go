package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"echosieve/pipeline/decode"
)

// otherForms are the beginnings of files that are not read, and what to do instead.
var otherForms = []struct{ prefix, form, remedy string }{
	{"BZh", "bzip2", "type bunzip2 -c FILE" + pipe},
	{"\xfd7zXZ\x00", "xz", "type xz -dc FILE" + pipe},
	{"\x04\x22\x4d\x18", "lz4", "type lz4 -dc FILE" + pipe},
	{"\x50\x2a\x4d\x18", "pzstd", "type zstd -dc FILE" + pipe},
	{"PK\x03\x04", "a zip file", "type unzip -p FILE" + pipe},
	{"PAR1", "Parquet", "type duckdb -c \"COPY (FROM 'FILE') TO '/dev/stdout' (FORMAT json)\"" + pipe},
	{"SQLite format 3\x00", "an SQLite database", "type sqlite3 -json FILE 'SELECT * FROM TABLE'" + pipe},
	{"ARROW1", "an Arrow file", arrowRemedy},
	{"FEA1", "an Arrow file (Feather)", arrowRemedy},
	{"Obj\x01", "an Avro file", "type avro-tools tojson FILE" + pipe},
	{"sep=", "a table behind a line that names its separator", "type tail -n +2 FILE" + pipe},
	{"<?xml", "XML, perhaps a feed", "let a program that reads feeds write one JSON object a line"},
	{"<rss", "a feed", "let a program that reads feeds write one JSON object a line"},
	{"<feed", "a feed", "let a program that reads feeds write one JSON object a line"},
}

const arrowRemedy = "write it as JSON Lines, such as by pandas: read_feather(FILE).to_json(sys.stdout, " +
	"orient='records', lines=True)"

// form finds out in which form the file is. It returns the function that reads its next piece.
func (f *openFile) form(content *bufio.Reader) (next func() (Article, error), err error) {
	in := &source{Reader: content, limit: f.Limit}
	f.source = in
	lines := &lineReader{source: in}
	if f.Input.Format != decode.FormatJSON || f.Lines {
		return lines.next, nil
	}
	start, first := firstLine(in)
	if err := otherForm(start, first); err != nil {
		return nil, err
	}
	valid := gjson.Valid(first)
	switch {
	case strings.HasPrefix(first, "["), strings.HasPrefix(first, "{") && !valid && endsBetweenTokens(first):
		return newValueReader(in).next, nil
	case strings.HasPrefix(first, warcBegin):
		return (&warcReader{source: in}).next, nil
	case valid && isBulk(first):
		return nil, errBulk
	case valid && isKcat(first):
		return nil, errKcat
	case strings.HasPrefix(first, "{"):
		return lines.next, nil
	}
	if strings.Contains(first, "\r") {
		return nil, errCarriage
	}
	fields := &f.Input.Fields
	known := append(fields.Paths(), f.Columns...)
	table, columns := newTableReader(in, first, fields.Text, known)
	if table != nil {
		table.unquoted = f.Unquoted
		return table.next, nil
	}
	switch {
	case columns != nil && slices.ContainsFunc(columns, isProse):
		f.why = f.Name(f.number) + ": it is a text, it does not begin with JSON or the names of columns; " +
			"--input.format text reads one article a line"
	case columns != nil:
		f.why = f.Name(f.number) + ": " + columnsOf(columns)
	case first != "" && !valid:
		f.why = fmt.Sprintf("%s:%d: the first line is no JSON, and no header with commas, tabs or semicolons between "+
			"names: %s", f.Name(f.number), in.line+1, strconv.QuoteToGraphic(first[:min(len(first), longestName)]))
	}
	return lines.next, nil
}

// otherForm returns an error for a file that is not read. It says what the file is.
func otherForm(start []byte, first string) error {
	for _, f := range otherForms {
		if bytes.HasPrefix(start, []byte(f.prefix)) {
			return fmt.Errorf("this is %s: %s", f.form, f.remedy)
		}
	}
	known := strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") || strings.HasPrefix(first, warcBegin)
	kind, zeros := http.DetectContentType(start), bytes.Count(start[:min(len(start), 8)], []byte{0})
	switch {
	case len(start) > tarMark && bytes.HasPrefix(start[tarMark:], []byte("ustar")):
		return errors.New("this is a tar archive: type tar -xOf FILE" + pipe)
	case bytes.HasPrefix(start, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(start, []byte("\x00\x00\xfe\xff")), zeros == 6:
		return errors.New("this is UTF-32: save it in UTF-8, or type iconv -f UTF-32 -t UTF-8 FILE" + pipe)
	case strings.Contains(kind, "utf-16"), zeros == 4: // two characters of ASCII
		return errors.New("this is UTF-16: save it in UTF-8, or type iconv -f UTF-16 -t UTF-8 FILE" + pipe)
	case known:
		return nil
	case strings.HasPrefix(kind, "text/html"):
		return errors.New("this is one HTML page: type tr '\\n' ' ' < FILE and pipe it into this command with " +
			"--input.format html, which reads one page a line")
	case kind == "application/octet-stream" && (bytes.IndexByte(start, 0) >= 0 || !utf8.ValidString(first)):
		return errors.New("it holds bytes that no text has")
	case kind != "application/octet-stream" && !strings.HasPrefix(kind, "text/"):
		return fmt.Errorf("this is a file of the type %s", kind)
	case !utf8.ValidString(first):
		return errEncoding
	}
	return nil
}

var (
	errBulk = errors.New("this is Elasticsearch's bulk format: type jq -c 'select(length != 1 or (has(\"index\") or " +
		"has(\"create\") | not))' FILE" + pipe)
	errKcat     = errors.New("this is the output of kcat -J: type jq -c '.payload // empty | fromjson' FILE" + pipe)
	errCarriage = errors.New("its lines end in a carriage return alone: type tr '\\r' '\\n' < FILE" + pipe)
)

// tarMark is where the header of a tar archive has its mark, in bytes.
const tarMark = 257

// firstLine skips what is blank. It returns the first bytes behind it, and the first line of these: as much of it
// as the buffer can hold. It waits for the end of that line, because a pipe may bring it in parts.
func firstLine(in *source) (start []byte, line string) {
	searched := 0
	for {
		start, _ = in.Peek(in.Buffered())
		text := bytes.TrimLeft(start, blank)
		if skip := len(start) - len(text); skip > 0 {
			in.line += bytes.Count(start[:skip], []byte("\n"))
			_, _ = in.Discard(skip)
			start, searched = text, 0
		}
		end := bytes.IndexByte(start[searched:], '\n')
		if end < 0 {
			searched = len(start)
			if _, err := in.Peek(in.Buffered() + 1); err == nil {
				continue
			}
			start, _ = in.Peek(in.Buffered()) // the buffer has moved
			end = 0
		}
		return start, strings.TrimRight(string(start[:searched+end]), blank)
	}
}

// endsBetweenTokens says whether a line that is no JSON value by itself may be the first line of one: it has
// no fault, and does not end in a string, as a line does that was cut off.
func endsBetweenTokens(line string) bool {
	d := json.NewDecoder(strings.NewReader(line))
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF) // io.ErrUnexpectedEOF is the end within a token
		}
	}
}

// isBulk says whether a line is an action of Elasticsearch's bulk format, behind which an article stands.
func isBulk(line string) bool {
	action := gjson.Parse(line).Map()
	return len(action) == 1 && (action["index"].IsObject() || action["create"].IsObject())
}

// isKcat says whether a line is a record in the output of kcat -J.
func isKcat(line string) bool {
	missing := func(name string) bool { return !gjson.Get(line, name).Exists() }
	return !slices.ContainsFunc([]string{"topic", "partition", "offset", "payload"}, missing)
}
