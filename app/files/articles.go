package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/pipeline/decode"

	"github.com/tidwall/gjson"
)

// ArticleReader reads the articles of a file as JSON objects. It recognises JSON Lines, JSON lists, JSON over
// several lines, Elasticsearch's bulk format, the output of kcat -J, CSV and TSV with a header, and WARC. Not
// for concurrent use.
type ArticleReader struct {
	*lineReader
	next    func() ([]byte, int, error)
	at      time.Time
	guessed Tally
}

// otherForms are the beginnings of files that are not read, and what to do instead.
var otherForms = []struct{ prefix, form, remedy string }{
	{"BZh", "bzip2", "type bunzip2 -c FILE and pipe it into this command"},
	{"\xfd7zXZ\x00", "xz", "type xz -dc FILE and pipe it into this command"},
	{"PK\x03\x04", "a zip file", "type unzip -p FILE and pipe it into this command"},
	{"PAR1", "Parquet", "type duckdb -c \"COPY (FROM 'FILE') TO '/dev/stdout' (FORMAT json)\" and pipe it into " +
		"this command"},
	{"Obj\x01", "an Avro file", "type avro-tools tojson FILE and pipe it into this command"},
	{"<?xml", "XML, perhaps a feed", "let a program that reads feeds write one JSON object a line"},
	{"<rss", "a feed", "let a program that reads feeds write one JSON object a line"},
	{"<feed", "a feed", "let a program that reads feeds write one JSON object a line"},
}

// NewArticleReader reads from r. input says under which names the articles have their text. No article is
// longer than limit bytes, and the reader holds no more than a few times as much of the file. The caller
// calls Close.
func NewArticleReader(r io.Reader, limit int, input decode.Config) (*ArticleReader, error) {
	lines, err := newLineReader(r, limit)
	if err != nil {
		return nil, err
	}
	a := &ArticleReader{lineReader: lines}
	if a.next, err = a.open(input); err != nil {
		lines.Close()
		return nil, err
	}
	return a, nil
}

// open finds out in which form the file is.
func (a *ArticleReader) open(input decode.Config) (func() ([]byte, int, error), error) {
	lines := a.lineReader
	if input.Format != decode.FormatJSON {
		return lines.Next, nil
	}
	start, first := beginning(lines)
	if err := otherForm(start, first); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("[")), strings.HasPrefix(first, "{") && !gjson.Valid(first) &&
		endsBetweenTokens(first):
		return (&valueReader{in: lines.in, limit: lines.limit, line: lines.number, newRow: true}).next, nil
	case bytes.HasPrefix(start, []byte("WARC/")):
		return (&warcReader{in: lines.in, limit: lines.limit, at: &a.at, guessed: &a.guessed}).next, nil
	case isBulk(first):
		return a.bulk, nil
	case gjson.Valid(first) && gjson.Get(first, "payload").Type == gjson.String && gjson.Get(first, "offset").Exists():
		return a.kcat, nil
	case strings.HasPrefix(first, "{"):
		return lines.Next, nil
	}
	table, err := newTableReader(lines, first, input.Fields.Text)
	if err != nil || table == nil {
		return lines.Next, err
	}
	return table.next, nil
}

// otherForm returns an error for a file that is not read. It says what the file is.
func otherForm(start []byte, first string) error {
	for _, f := range otherForms {
		if bytes.HasPrefix(start, []byte(f.prefix)) {
			return fmt.Errorf("this is %s: %s", f.form, f.remedy)
		}
	}
	known := strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") || strings.HasPrefix(first, "WARC/")
	kind, _, _ := strings.Cut(http.DetectContentType(start), ";")
	switch {
	case kind == "text/plain" && byMark(start) != "", isUTF16(start[:min(len(start), 64)]):
		return errors.New("this is UTF-16: save it in UTF-8, or type iconv -f UTF-16 -t UTF-8 FILE and pipe it " +
			"into this command")
	case known:
		return nil
	case kind == "text/html":
		return errors.New("this is one HTML page: put pages into JSON or a web archive (WARC)")
	case !strings.HasPrefix(kind, "text/") && kind != "application/octet-stream":
		return fmt.Errorf("this is a file of the type %s; expected are %s", kind, HoldsArticles)
	case isBinary(start[:min(len(start), 1024)]):
		return fmt.Errorf("it holds bytes that no text has; expected are %s", HoldsArticles)
	case !utf8.ValidString(first):
		return encodingError(start)
	}
	return nil
}

// isUTF16 says whether many of the first bytes are zero, all of them in the same place of a pair of bytes.
func isUTF16(start []byte) bool {
	var zeros [2]int
	for i, c := range start {
		if c == 0 {
			zeros[i%2]++
		}
	}
	return zeros[0]+zeros[1] > len(start)/4 && min(zeros[0], zeros[1]) == 0
}

// isBinary says whether a zero byte or many control characters are among the first bytes.
func isBinary(start []byte) bool {
	controls := 0
	for _, c := range start {
		if c == 0 {
			return true
		}
		if c < ' ' && !isSpace(c) {
			controls++
		}
	}
	return controls*20 > len(start)
}

// beginning skips a byte order mark and blank lines. It returns the first bytes behind them, and the first
// line of these: as much of it as the buffer can hold. It waits for the end of that line, because a pipe may
// bring it in parts.
func beginning(lines *lineReader) (start []byte, line string) {
	in := lines.in
	if start, _ = in.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark))
	}
	searched := 0
	for {
		start, _ = in.Peek(in.Buffered())
		text := bytes.TrimLeft(start, " \t\r\n")
		if blank := bytes.LastIndexByte(start[:len(start)-len(text)], '\n') + 1; blank > 0 || len(text) == 0 {
			blank = max(blank, len(start)-len(text)) // white space before the first line means nothing
			lines.number += bytes.Count(start[:blank], []byte("\n"))
			_, _ = in.Discard(blank)
			start, searched = start[blank:], 0
		}
		end := bytes.IndexByte(start[searched:], '\n')
		if end < 0 {
			searched = len(start)
			if _, err := in.Peek(in.Buffered() + 1); err == nil {
				continue
			}
			end = len(start) - searched
		}
		return bytes.TrimLeft(start, " \t\r\n"), string(bytes.TrimSpace(start[:searched+end]))
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

// Next returns the next article and its place in the file: the line in which it begins, or in a web archive
// the number of its record. The article is valid until the next call. A *SkipError says that a piece of the
// file is no article; the next call goes on behind it. After another error the file cannot be read further.
// io.EOF ends the file.
func (a *ArticleReader) Next() ([]byte, int, error) {
	value, at, err := a.next()
	if err == nil && len(value) > a.limit {
		err = TooLong("article", len(value), a.limit)
	}
	return value, at, err
}

// Time is when the article was fetched; zero if the file does not say so.
func (a *ArticleReader) Time() time.Time { return a.at }

// Guessed counts the pages that name no encoding, or a wrong one, by the encoding in which they were read.
func (a *ArticleReader) Guessed() *Tally { return &a.guessed }

// marshal returns v as JSON. Markup stays as it is: escapes would make a page longer than a record may be.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
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

func (a *ArticleReader) bulk() ([]byte, int, error) {
	for {
		line, number, err := a.lineReader.Next()
		if err != nil || !isBulk(string(line)) {
			return line, number, err
		}
	}
}

func (a *ArticleReader) kcat() ([]byte, int, error) {
	line, number, err := a.lineReader.Next()
	if payload := gjson.GetBytes(line, "payload"); err == nil && payload.Type == gjson.String {
		return []byte(payload.Str), number, nil
	}
	return line, number, err
}
