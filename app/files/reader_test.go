package files

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/decode"
	"echosieve/test/host"
)

func warcRecord(kind, uri, contentType, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: "+
		"2026-11-23T15:35:00Z\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		kind, uri, contentType, len(block), block)
}

func response(contentType, body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\n\r\n" + body
}

// read is what a Reader finds in a file: articles, for what was left out its cause, and the error that ended it.
type read struct {
	articles []string
	places   []int
	at       string // the time of the last article that has one
	err      error
}

func readFile(file io.Reader, most int) (found read) {
	r := &Reader{Names: []string{"-"}, Stdin: file, Limit: most, Input: decode.DefaultConfig()}
	for a, failed := range r.Articles(context.Background()) {
		skip := (*SkipError)(nil)
		found.places = append(found.places, a.Place)
		switch {
		case errors.As(failed, &skip):
			found.articles = append(found.articles, skip.Cause)
		case failed != nil:
			found.err = failed
		default:
			found.articles = append(found.articles, string(a.Value))
		}
		if !a.Time.IsZero() {
			found.at = a.Time.Format("15:04")
		}
	}
	return found
}

// forms are files by their names, what a reader of articles of 1,000 bytes finds in them, and the error that ends it.
type forms map[string]struct {
	file string
	want []string
	err  string
}

// read reads the files as a whole, and through other readers.
func (f forms) read(t *testing.T, through ...func(io.Reader) io.Reader) {
	t.Helper()
	for name, c := range f {
		for _, in := range append(through, func(r io.Reader) io.Reader { return r }) {
			got := readFile(in(strings.NewReader(c.file)), 1000)
			require.Equal(t, c.err == "", got.err == nil, "%s: %v", name, got.err)
			require.Contains(t, fmt.Sprint(got.err), c.err, name)
			require.Equal(t, c.want, got.articles, name)
			require.True(t, !strings.HasPrefix(name, "warc") || len(got.articles) < 2 || got.at == "15:35")
		}
	}
}

func TestForms(t *testing.T) {
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
	members := "" // Common Crawl compresses each record by itself
	for _, part := range strings.SplitAfter(archive, "\r\n\r\n") {
		members += host.Gzip(t, part)
	}
	forms{
		"lines":                {a + "\n\n" + b + "\n", []string{a, b}, ""},
		"lines, cut off":       {`{"id":"a","text` + "\n" + b, []string{"no JSON object", b}, ""},
		"nothing":              {"", nil, ""},
		"list":                 {"[" + a + ",\n" + b + "]", []string{a, b}, ""},
		"list, pretty":         {"\ufeff [\n" + pretty + "," + pretty + "]\n", []string{a, a}, ""},
		"list, mark, one line": {"\ufeff[" + a + "," + b + "]", []string{a, b}, ""},
		"list of nothing":      {"[]", nil, ""},
		"list, cut off":        {"[" + a + ",{\"id\":", []string{a}, "at least 6 bytes were not"},
		"lists":                {"[" + a + "]\n[" + b + "]" + a, []string{a, b, a}, ""},
		"list, brace behind":   {"[" + a + "]\n}" + b, []string{a}, "stdin:2: a value begins here that is damaged JSON"},
		"pretty":               {pretty + pretty, []string{a, a}, ""},
		"pretty, brace behind": {"{\"id\":\"a\",\n\"text\":\"x\"}\n" + pretty, []string{a, a}, ""},
		"pretty, value apart":  {"{\"id\":\n\"a\",\"text\":\"x\"}" + pretty, []string{a, a}, ""},
		"pretty, two braces":   {pretty + "}\n" + pretty, []string{a}, "stdin:5: "},
		"two in one line":      {a + b + "\n" + a, []string{a, b, a}, ""},
		"long line": {`{"id":"` + strings.Repeat("[", 2*lineBufferBytes) + "\"}\n" + b,
			[]string{"too long", b}, ""},
		"marks":               {"\x1e" + a + "\n\x1e" + b + "\n\x00\x00\ufeff" + a + "\x00\n\x00", []string{a, b, a}, ""},
		"lines, NaN":          {"{\"id\":NaN,\"n\":[-Infinity]}\n" + a, []string{"no JSON object", a}, ""},
		"marks between lists": {"[" + a + "]\n\ufeff[" + a + "]", []string{a}, "stdin:2: "},
		"list, NaN":           {"[" + a + ",\n{\"id\":NaN}]", []string{a}, "stdin:2: NaN or Infinity, which is no JSON"},
		"csv, two":            {"id,text\na,x\n\ufeffID, Text\na,x\n", []string{a, a}, ""},
		"csv, two headers":    {"id,text\na,x\ntext,id\nx,b\n", []string{a}, "stdin:3: another header begins here"},
		"csv, two names":      {"id,Text,TEXT\na,x,y\n", nil, "it has id, Text, TEXT: --input.fields.text Text"},
		"csv, nulls":          {"id,text,body\nNULL,\\N,x\n", []string{`{"body":"x","id":"","text":""}`}, ""},
		"text": {"The ferry will stop on the first of May, the operator said, after a fault\n",
			nil, "it is a text"},
		"tar":      {tarOf(t, a), nil, "this is a tar archive: type tar -xOf"},
		"sqlite":   {"SQLite format 3\x00\x10\x00", nil, "this is an SQLite database: type sqlite3 -json"},
		"arrow":    {"ARROW1\x00\x00\xff", nil, "this is an Arrow file"},
		"no table": {"id|text\na|x\n", nil, `stdin:1: the first line is no JSON, and no header with commas`},
		"csv, CR":  {"id,text\ra,x\rb,\"y, \"\"z\"\"\"\r", nil, `tr '\r' '\n' < FILE`},
		"csv, escapes": {"id,text\na,x\nb,\"y, \\\"z\\\"\"\nc,x\n", []string{a},
			`stdin:3: the row has \" for a quote in a field, ` +
				`in place of "": type python3`},
		"csv, escape at the end": {"id,text\na,x\na,\"x \\\"\"\nb,\"y, \\\"z\\\"\"\n", []string{a},
			`stdin:3: the row has \" `},
		"zstd, more behind": {host.Zstd(t, a+"\n") + strings.Repeat("\x00", 9) + "x", []string{a},
			"type zstd -dc FILE"},
		"gzip, more behind": {host.Gzip(t, a+"\n") + strings.Repeat("\x00", 20), []string{a}, "type gzip -dc FILE"},
		"other name": {`{"nr":"a","headline":"x","story":"x y"}`, nil,
			"it has nr, headline, story: --input.fields.text story"},
		"other name, a point": {`{"nr":"a","a b.c":"x y"}`, nil, `it has nr, a b\.c: --input.fields.text 'a b\.c'`},
		"pretty, NaN":         {"{\n\"id\":NaN}", nil, "jq -c . FILE"},
		"other column":        {"nr,headline,story\n1,x,y\n", nil, "it has nr, headline, story: --input.fields.text story"},
		"pretty, damaged":     {pretty + "{\n\"id\" 1}" + pretty, []string{a}, "stdin:5: a value begins here"},
		"too long in a list":  {`[{"text":"` + strings.Repeat("x", 2000) + `"},` + a + "]", []string{"too long", a}, ""},
		"bulk": {`{"index":{"_id":"1"}}` + "\n" + a + "\n",
			nil, "this is Elasticsearch's bulk format: type jq -c"},
		"kcat": {`{"topic":"t","partition":0,"offset":1,"key":"a","payload":"{\"id\":\"a\",\"text\":\"x\"}"}`,
			nil, "this is the output of kcat -J: type jq -c '.payload // empty | fromjson' FILE"},
		"csv":                {"id,text\r\na,x\r\nb,\"y, \"\"z\"\"\"\r\n", []string{a, b}, ""},
		"csv, several lines": {"id;text\na;\"x\ny\"\n", []string{`{"id":"a","text":"x\ny"}`}, ""},
		"csv, short row":     {"id,text\na,x\na\n", []string{a, `{"id":"a"}`}, ""},
		"csv, long row":      {"id,text\na,x,z\na,x\n", []string{"more fields than the header", a}, ""},
		"tsv":                {"id\ttext\na\tx\n", []string{a}, ""},
		"no header":          {"a,x\nb,y\n", nil, "it has a, x: --input.fields.text NAME"},
		"warc":               {archive, pages, ""},
		"warc.gz":            {members, pages, ""},
		"warc, padded":       {archive + "\x00\x00", pages, ""},
		"warc, cut off":      {archive[:len(archive)-3000], pages[:5], "cut off"},
		"warc, no length": {"WARC/1.0\r\nWARC-Type: response\r\n\r\n", nil,
			"no article in standard input (stdin:1: a record does not say its length)"},
		"bzip2":   {"BZh91AY", nil, "bunzip2 -c"},
		"xz":      {"\xfd7zXZ\x00", nil, "xz -dc"},
		"lz4":     {"\x04\x22\x4d\x18", nil, "lz4 -dc"},
		"pzstd":   {"\x50\x2a\x4d\x18", nil, "zstd -dc"},
		"zip":     {"PK\x03\x04", nil, "unzip -p"},
		"Parquet": {"PAR1", nil, "duckdb"},
		"feed":    {"<?xml version=\"1.0\"?><rss>", nil, "reads feeds"},
		"PDF":     {"%PDF-1.7\n", nil, "application/pdf"},
		"page":    {"<!doctype html>\n<p>x</p>", nil, "--input.format html, which reads one page a line"},
	}.read(t, iotest.OneByteReader) // a pipe brings parts
}

// The first article of a pipe is read as soon as its line has come: nobody may write more.
func TestFirstArticleDoesNotWait(t *testing.T) {
	in, writer := io.Pipe()
	defer writer.Close()
	go func() { _, _ = io.WriteString(writer, `{"id":"a","text":""}`+"\n") }()
	r := &Reader{Names: []string{"-"}, Stdin: in, Limit: 1000, Input: decode.DefaultConfig()}
	for a, err := range r.Articles(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, `{"id":"a","text":""}`, string(a.Value))
		require.Equal(t, 1, a.Place)
		require.True(t, a.Idle)
		break
	}
}

// Whatever a file holds, the reading ends, and no article is longer than allowed.
func FuzzArticles(f *testing.F) {
	for _, file := range []string{
		"[{}]", "{\n}", "id,text\na,x", `{"index":{}}` + "\n{}", `{"topic":1,"partition":1,"offset":1,"payload":"{}"}`,
		warcRecord("response", "u", "application/http", response("text/html", "x")),
		"WARC/1.0\r\nContent-Length: 9223372036854775807\r\n\r\nx",
	} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		for _, a := range readFile(strings.NewReader(file), 1000).articles {
			require.LessOrEqual(t, len(a), 1000)
		}
	})
}

// Pieces whose end is known are left out; other damage of lists and tables ends the file, with its place.
func TestDamage(t *testing.T) {
	const a, b, c = `{"id":"a","text":"x"}`, `{"id":"b","text":"y"}`, `{"id":"c","text":"z"}`
	forms{
		"lone commas":          {"[\n" + a + ",\n,\n" + b + "\n]", []string{a}, "stdin:4: "},
		"comma first":          {"[," + a + "]", nil, "no article"},
		"comma last":           {"[" + a + ",\n" + b + ",\n]", []string{a, b}, "stdin:3: "},
		"no comma":             {"[" + a + "\n" + b + "]", []string{a}, "stdin:2: "},
		"open string":          {"[\n" + a + ",\n{\"id\":\"b\",\"text\":\"y},\n" + c + "\n]", []string{a}, "stdin:3: "},
		"line end in a string": {"[" + a + ",{\"id\":\"a\",\"text\":\"x\nx\"},\n " + b + "]", []string{a}, "stdin:1: "},
		"open brace":           {"[\n" + a + ",\n\n{\"id\":\"a\",\"text\":\"x\",\n" + b + "]", []string{a}, "stdin:4: "},
		"white space": {"[" + strings.Repeat(" \n", 1<<16) + a + strings.Repeat("\t\r\n", 99) + "," + b + "]",
			[]string{a, b}, ""},
		"white space before": {strings.Repeat(" \n", lineBufferBytes) + "[" + a + "]", []string{a}, ""},
		"deep": {"[" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "," + a + "]",
			[]string{"too long", a}, ""},

		"open quote":          {"id,text\na,\"x\nb,y\nc,z\n", nil, "stdin:2: a quote opens a field"},
		"open quote, another": {"id,text\na,x\n\na,\"x\nb,\"y\"\nc,z\n", []string{a}, "stdin:4: a quote opens a field"},
		"open quote, long": {"id,text\na,x\nb,\"" + strings.Repeat("\nb,y", 1<<17), []string{a},
			"stdin:3: a row begins here"},
		"quotes in a field":     {"id,text\na,x\na,\"x \"y\" \nz\"\nb,y\n", []string{a}, "stdin:3: a quote opens a field"},
		"quote behind a quote":  {"id,text\na,x\nb,x \"y\",\"z\n", []string{a}, "stdin:3: a quote stands in a field"},
		"quotes outside":        {"id,text\na,x \"y\"\nb,y\n", nil, "stdin:2: a quote stands in a field"},
		"row too long":          {"id,text\na," + strings.Repeat("x", 1200) + "\nb,y\n", []string{"too long", b}, ""},
		"sep":                   {"sep=;\r\nid;text\r\na;x\r\n", nil, "tail -n +2 FILE"},
		"sep, byte order mark":  {"\ufeffsep=|\nid|text\na|x\n", nil, "tail -n +2 FILE"},
		"one damaged character": {"id,text\na,é\nb,\xe9\nc,z\n", []string{`{"id":"a","text":"é"}`, "not in UTF-8", c}, ""},
	}.read(t)
}

func tarOf(t *testing.T, content string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "a.json", Mode: 0o600, Size: int64(len(content))}))
	_, err := io.WriteString(w, content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// A table without quoting is read as it is written, if a flag says so.
func TestTablesWithoutQuoting(t *testing.T) {
	const table = "id\ttext\r\na\t\"x\" and \"y\r\nb\t\"z\n"
	r := &Reader{Names: []string{"-"}, Stdin: strings.NewReader(table), Limit: 1000, Input: decode.DefaultConfig(),
		Unquoted: true}
	var got []string
	for a, err := range r.Articles(t.Context()) {
		require.NoError(t, err)
		got = append(got, string(a.Value))
	}
	require.Equal(t, []string{`{"id":"a","text":"\"x\" and \"y"}`, `{"id":"b","text":"\"z"}`}, got)
	require.ErrorContains(t, readFile(strings.NewReader(table), 1000).err, "--unquoted")
}

// What stands behind an unclosed quote is counted, in a file that ends.
func TestUnreadBytesAreCounted(t *testing.T) {
	const before, rest = "id,text\na,x\n", "b,\"y\n"
	name := filepath.Join(t.TempDir(), "a.csv")
	unread := rest + strings.Repeat("c,z\n", 1<<18)
	require.NoError(t, os.WriteFile(name, []byte(before+unread), 0o600))
	r := &Reader{Names: []string{name}, Limit: 1000, Input: decode.DefaultConfig()}
	var last error
	for _, err := range r.Articles(t.Context()) {
		last = err
	}
	require.ErrorContains(t, last, fmt.Sprintf("%d bytes were not", len(unread)))
}

// Of a file of the standard library's writers that is damaged at one place, each row is an article, or counted, or
// it stands behind the place at which the file has ended. Nothing before the damage is lost. Of a table, a row may
// read as the beginning of the next two: nobody can tell.
func TestDamageAtOnePlace(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	fields := []string{"x", "a, b", "he said \"hi\"", "two\nlines", "\"", "", "\n", ",", "a\"\n\"b", "é", `\`, "; \t"}
	for round := range 4000 {
		inTable := round%2 == 0
		var rows []string
		var begins []int
		var file bytes.Buffer
		w := csv.NewWriter(&file)
		if inTable {
			require.NoError(t, w.Write([]string{"id", "text", "more"}))
		}
		for n := range 12 {
			w.Flush()
			begins = append(begins, file.Len())
			row := map[string]string{"id": fmt.Sprint(n), "text": fields[random.IntN(len(fields))] +
				fields[random.IntN(len(fields))], "more": fields[random.IntN(len(fields))]}
			value, err := decode.AppendJSON(nil, row)
			require.NoError(t, err)
			rows = append(rows, string(value))
			if inTable {
				require.NoError(t, w.Write([]string{row["id"], row["text"], row["more"]}))
				continue
			}
			value, err = json.MarshalIndent(row, "", "  ")
			require.NoError(t, err)
			fmt.Fprintf(&file, "%s%s", map[bool]string{true: "[", false: ",\n"}[n == 0], value)
		}
		if w.Flush(); !inTable {
			file.WriteString("]\n")
		}
		whole := file.Bytes()
		got := readFile(bytes.NewReader(whole), 1000)
		require.NoError(t, got.err)
		require.Equal(t, rows, got.articles)

		at := begins[2] + random.IntN(len(whole)-begins[2])
		damaged := slices.Clone(whole)
		switch what := []byte("\"\n,{}x\\:"); random.IntN(3) {
		case 0:
			damaged = slices.Delete(damaged, at, at+1)
		case 1:
			damaged = slices.Insert(damaged, at, what[random.IntN(len(what))])
		case 2:
			damaged = damaged[:at]
		}
		got = readFile(bytes.NewReader(damaged), 1000)
		before, _ := slices.BinarySearch(begins, at+1)
		before = max(0, before-2)
		require.GreaterOrEqual(t, len(got.articles), before, "%q", damaged)
		require.Equal(t, rows[:before], got.articles[:before], "%q", damaged)
		place := strings.Count(string(damaged), "\n") + 2
		if got.err != nil {
			place = got.places[len(got.places)-1]
			require.ErrorContains(t, got.err, fmt.Sprintf("stdin:%d: ", place))
		}
		for n := range rows {
			id := fmt.Sprintf(`"id":"%d"`, n)
			mine := func(s string) bool { return strings.Contains(s, id) || strings.HasPrefix(s, "more fields") }
			behind := bytes.Count(whole[:begins[n]], []byte("\n"))+3 >= place
			touched := n >= before && n <= before+4
			require.True(t, behind || touched || slices.ContainsFunc(got.articles, mine), "row %d of %q: %v", n, damaged, got)
		}
	}
}

// Tables in another encoding are refused.
func TestTablesInOtherEncodings(t *testing.T) {
	gbk, err := os.ReadFile("testdata/cases/gbk.csv")
	require.NoError(t, err)
	for said, file := range map[string]string{
		"is not in UTF-8":   string(gbk),
		"iconv -f GB18030 ": "id,text\n1,Die F\xe4hre von Gr\xfcnau f\xe4hrt drei Tage nicht, weil die Br\xfccke fehlt.\n",
		"this is UTF-16: ":  "\xff\xfei\x00d\x00,\x00t\x00e\x00x\x00t\x00\n\x00",
		"UTF-16 -t UTF-8":   "i\x00d\x00,\x00t\x00e\x00x\x00t\x00\n\x00",
	} {
		got := readFile(strings.NewReader(file), 1000)
		require.ErrorContains(t, got.err, said)
		require.ErrorContains(t, got.err, "iconv -f ")
		require.Empty(t, got.articles)
	}
}

// All of a stored file is read, in the form in which browsers show its pages.
func TestCasesOfWebArchives(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.warc.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		got := readFile(bytes.NewReader(data), 1<<20)
		require.NoError(t, got.err)
		require.Len(t, got.articles, 7)
		for _, page := range got.articles {
			require.Contains(t, page, "<!doctype html>")
			require.Contains(t, page, "</html>")
		}
	}
}
