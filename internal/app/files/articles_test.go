package files

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/decode"
)

func warcRecord(kind, uri, contentType, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: "+
		"2026-11-23T15:35:00Z\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		kind, uri, contentType, len(block), block)
}

func response(contentType, body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\n\r\n" + body
}

// readAll returns the articles of a file and the error that ended it, nil at its end.
func readAll(t testing.TB, file io.Reader) (articles []string, at string, err error) {
	t.Helper()
	r, err := NewArticleReader(file, 1000, decode.DefaultConfig())
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	for {
		line, _, err := r.Next()
		if skip := (*SkipError)(nil); errors.As(err, &skip) {
			articles = append(articles, skip.Cause)
			continue
		}
		if errors.Is(err, io.EOF) {
			return articles, at, nil
		}
		if err != nil {
			return articles, at, err
		}
		if !r.Time().IsZero() {
			at = r.Time().Format("15:04")
		}
		articles = append(articles, string(line))
	}
}

func TestArticleReader(t *testing.T) {
	const a, b = `{"id":"a","text":"x"}`, `{"id":"b","text":"y, \"z\""}`
	pretty := "{\n  \"id\": \"a\",\n  \"text\": \"x\"\n}\n"
	archive := warcRecord("warcinfo", "", "application/warc-fields", "software: x") +
		warcRecord("request", "http://a/1", "application/http", "GET / HTTP/1.1\r\n\r\n") +
		warcRecord("response", "http://a/1", "application/http", response("text/html", "<p>x</p>")) +
		warcRecord("response", "http://a/2.png", "application/http", response("image/png", "\x89PNG")) +
		warcRecord("response", "http://a/3", "application/http", response("text/html; charset=gbk", "\xb8\xdb")) +
		warcRecord("response", "http://a/4", "application/http", "no HTTP") +
		warcRecord("conversion", "http://a/5", "text/plain", "plain") +
		warcRecord("response", "http://a/6", "application/http", response("text/html", strings.Repeat("x", 5000)))
	pages := []string{
		`{"id":"http://a/1","url":"http://a/1","text":"<p>x</p>"}`, "of type image/png",
		`{"id":"http://a/3","url":"http://a/3","text":"港"}`,
		"no HTTP response", `{"id":"http://a/5","url":"http://a/5","text":"plain"}`, "too long",
	}
	var members bytes.Buffer // Common Crawl compresses each record by itself
	for _, part := range strings.SplitAfter(archive, "\r\n\r\n") {
		w := gzip.NewWriter(&members)
		_, _ = w.Write([]byte(part))
		require.NoError(t, w.Close())
	}
	for name, c := range map[string]struct {
		file string
		want []string
		err  string
	}{
		"lines":                {a + "\n\n" + b + "\n", []string{a, b}, ""},
		"lines, cut off":       {`{"id":"a","text` + "\n" + b, []string{`{"id":"a","text`, b}, ""},
		"one line":             {a, []string{a}, ""},
		"nothing":              {"", nil, ""},
		"list":                 {"[" + a + ",\n" + b + "]", []string{a, b}, ""},
		"list, pretty":         {"\ufeff [\n" + pretty + "," + pretty + "]\n", []string{a, a}, ""},
		"list of nothing":      {"[]", nil, ""},
		"list, cut off":        {"[" + a + ",", []string{a}, "the list has no end"},
		"lists":                {"[" + a + "]\n[" + b + "]" + a, []string{a, b, a}, ""},
		"list, brace behind":   {"[" + a + "]}" + b, []string{a, "damaged JSON", b}, ""},
		"list without end":     {"[" + a, []string{a}, "the list has no end"},
		"pretty":               {pretty + pretty, []string{a, a}, ""},
		"pretty, brace behind": {"{\"id\":\"a\",\n\"text\":\"x\"}\n" + pretty, []string{a, a}, ""},
		"pretty, value apart":  {"{\"id\":\n\"a\",\"text\":\"x\"}" + pretty, []string{a, a}, ""},
		"pretty, two braces":   {pretty + "}\n" + pretty, []string{a, "damaged JSON", a}, ""},
		"two in one line":      {a + b + "\n" + a, []string{a, b, a}, ""},
		"long line": {`{"id":"` + strings.Repeat("[", 2*lineBufferBytes) + "\"}\n" + b,
			[]string{"too long", b}, ""},
		// the decoder refuses it
		"pretty, damaged": {pretty + "{\n\"id\" 1}" + pretty, []string{a, `{"id"1}`, a}, ""},
		"too long in a list": {`[{"text":"` + strings.Repeat("x", 2000) + `"},` + a + "]", []string{"too long", a},
			""},
		"bulk": {`{"index":{"_id":"1"}}` + "\n" + a + "\n" + `{"create":{}}` + "\n" + b + "\n",
			[]string{a, b}, ""},
		"kcat": {
			`{"topic":"t","partition":0,"offset":1,"key":"a","payload":"{\"id\":\"a\",\"text\":\"x\"}"}` + "\n",
			[]string{a}, ""},
		"csv":                {"id,text\r\na,x\r\nb,\"y, \"\"z\"\"\"\r\n", []string{a, b}, ""},
		"csv, several lines": {"id;text\na;\"x\ny\"\n", []string{`{"id":"a","text":"x\ny"}`}, ""},
		"csv, short row":     {"id,text\na\n", []string{`{"id":"a"}`}, ""},
		"csv, long row":      {"id,text\na,x,z\na,x\n", []string{"more fields than the header", a}, ""},
		"tsv":                {"id\ttext\na\tx\n", []string{a}, ""},
		"no header":          {"a,x\nb,y\n", []string{"a,x", "b,y"}, ""},
		"warc":               {archive, pages, ""},
		"warc.gz":            {members.String(), pages, ""},
		"warc, cut off":      {archive[:len(archive)-3000], pages[:5], "cut off"},
		"warc, no length":    {"WARC/1.0\r\nWARC-Type: response\r\n\r\n", []string{"damaged WARC record"}, ""},
		"bzip2":              {"BZh91AY", nil, "bunzip2 -c"},
		"xz":                 {"\xfd7zXZ\x00", nil, "xz -dc"},
		"zip":                {"PK\x03\x04", nil, "unzip -p"},
		"Parquet":            {"PAR1", nil, "duckdb"},
		"feed":               {"<?xml version=\"1.0\"?><rss>", nil, "reads feeds"},
		"PDF":                {"%PDF-1.7\n", nil, "application/pdf"},
		"page":               {"<!doctype html>\n<p>x</p>", nil, "one HTML page"},
	} {
		t.Run(name, func(t *testing.T) {
			// a pipe brings parts
			for _, in := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file))} {
				got, at, err := readAll(t, in)
				if c.err != "" {
					require.ErrorContains(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, c.want, got)
				if strings.HasPrefix(name, "warc") && len(got) > 1 {
					require.Equal(t, "15:35", at)
				}
			}
		})
	}
}

// The first article of a pipe is read as soon as its line has come: nobody may write more.
func TestArticleReaderDoesNotWait(t *testing.T) {
	in, writer := io.Pipe()
	defer writer.Close()
	go func() { _, _ = io.WriteString(writer, `{"id":"a"}`+"\n") }()
	r, err := NewArticleReader(in, 1000, decode.DefaultConfig())
	require.NoError(t, err)
	defer r.Close()
	line, number, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, `{"id":"a"}`, string(line))
	require.Equal(t, 1, number)
	require.True(t, r.Idle())
}

// Whatever a file holds, the reading ends, and no article is longer than allowed.
func FuzzArticles(f *testing.F) {
	for _, file := range []string{
		"[{}]", "{\n}", "id,text\na,x", `{"index":{}}` + "\n{}", `{"offset":1,"payload":"{}"}`,
		warcRecord("response", "u", "application/http", response("text/html", "x")),
		"WARC/1.0\r\nContent-Length: 9223372036854775807\r\n\r\nx",
	} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		articles, _, _ := readAll(t, strings.NewReader(file))
		for _, a := range articles {
			if len(a) > 1000 {
				t.Fatalf("%d bytes", len(a))
			}
		}
	})
}
