//go:build !race

package files

import (
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/decode"
	"echosieve/test/host"
)

// hostile are beginnings of files and what follows again and again.
func hostile() map[string]struct{ start, again string } {
	const (
		response = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Length: 999999999999\r\n\r\n"
		ok       = response + "HTTP/1.1 200 OK\r\n"
		article  = `{"id":"a","text":"x"}`
	)
	continued := "WARC/1.0\r\nContent-Length: 1\r\nA: b\r\n" + strings.Repeat(" \r\n", 1000) + "\r\nx\r\n\r\n"
	return map[string]struct{ start, again string }{
		"line":                   {`{"text":"`, "x"},
		"lines":                  {article, "\n" + article},
		"lines, damaged":         {article, "\n{"},
		"lines, NaN":             {article, "\n" + `{"id":NaN}`},
		"line of NaN":            {article + "\n{", `"id":NaN,`},
		"no text":                {"", `{"id":"a"}` + "\n"},
		"names":                  {`{"a":[{`, `"a":1,`},
		"lists in lists":         {`{"a":`, `[{"a":`},
		"bulk":                   {"", `{"index":{}}` + "\n"},
		"white space":            {"", "\n"},
		"marks":                  {article, "\ufeff\x1e\x00"},
		"marks behind a list":    {"[" + article + "]", "\x1e\n" + article},
		"open quote":             {"id,text\na,\"", strings.Repeat("x", 900) + "\n"},
		"open quotes":            {"id,text\n", "a,\"" + strings.Repeat("x", 90) + "\n"},
		"quoted field":           {"id,text\na,\"", "x"},
		"rows":                   {"id,text\n", "a,\"x\ny\"\n"},
		"rows with quotes":       {"id,text\n", "a,x \"y\"\n"},
		"row with quotes":        {"id,text\na,", "x\" "},
		"rows of CR":             {"id,text\r", "a,x\r"},
		"rows, empty":            {"id,text\n", "\n"},
		"header of a table":      {"id,text,", "x,"},
		"list":                   {"[" + article, ",\n" + article},
		"JSON string":            {`[{"text":"`, "x"},
		"JSON string, LF":        {"[{\"text\":\"", "x\n"},
		"JSON white space":       {"[", " \n"},
		"JSON brackets":          {"[", "["},
		"WARC line":              {"WARC/", "x"},
		"WARC header":            {"WARC/1.0\r\n", "A: b\r\n"},
		"WARC header line":       {"WARC/1.0\r\nA: ", "x"},
		"WARC header, continued": {"", continued},
		"WARC junk":              {"WARC/1.0\r\n\r\n", "x"},
		"HTTP status":            {response + "HTTP/1.1 200", "x"},
		"HTTP header":            {ok, "A: b\r\n"},
		"HTTP body":              {ok + "Content-Type: text/html\r\n\r\n", "<p>x</p>"},
		"HTTP chunk":             {ok + "Transfer-Encoding: chunked\r\n\r\n", "f"},
		"HTTP chunks":            {ok + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
		"HTTP, meta":             {ok + "Content-Type: text/html\r\n\r\n\xff", "<meta "},
	}
}

func discard(file io.Reader, most int) {
	r := &Reader{Names: []string{"-"}, Stdin: file, Limit: most, Input: decode.DefaultConfig()}
	for _, err := range r.Articles(context.Background()) {
		_ = err // whatever it is
	}
}

// endless repeats a text, and notes the most memory in use while it is read.
type endless struct {
	text string
	at   int
	most uint64
}

func (e *endless) Read(b []byte) (int, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.most = max(e.most, m.HeapAlloc)
	n := 0
	for n < len(b) {
		c := copy(b[n:], e.text[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.text)
	}
	return n, nil
}

// Whatever a file claims or leaves open, reading it takes the memory of a few records.
func TestMemoryOfEndlessPieces(t *testing.T) {
	// On a busy machine the collector comes late, and the heap is mostly garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for name, f := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			rest := &endless{text: strings.Repeat(f.again, 1+4096/len(f.again))}
			discard(io.MultiReader(strings.NewReader(f.start), io.LimitReader(rest, 16<<20)), 1000)
			require.Greater(t, rest.most, uint64(0))
			require.Less(t, rest.most, before.HeapAlloc+14<<20)
		})
	}
}

// A file of eight times the size takes about eight times as long; with a quadratic step it would take 64 times as long.
// Files are read for records of 8 MiB and of 1,000 bytes.
func TestHostileFilesTakeLinearTime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, f := range hostile() {
		reading := func(size int) func() {
			file := f.start + strings.Repeat(f.again, size/len(f.again))
			return func() {
				runtime.GC()
				discard(strings.NewReader(file), 8<<20)
				discard(strings.NewReader(file), 1000)
			}
		}
		require.Less(t, host.Ratio(t, 20*time.Millisecond, 24, reading(256<<10), reading(2<<20)), 24.0, name)
	}
}
