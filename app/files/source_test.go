package files

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
)

// readLines returns each line as "number:line" and each error as "number!error".
func readLines(t *testing.T, in io.Reader, limit int) []string {
	t.Helper()
	got := []string{}
	for line, err := range (&Reader{Names: []string{"-"}, Stdin: in, Limit: limit, Lines: true}).Articles(t.Context()) {
		if err == nil {
			got = append(got, fmt.Sprintf("%d:%s", line.Place, line.Value))
		} else {
			got = append(got, fmt.Sprintf("%d!%v", line.Place, err))
		}
	}
	return got
}

func TestLineReader(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"one":              {"a\n", []string{"1:a"}},
		"no end":           {"a\nb", []string{"1:a", "2:b"}},
		"CRLF":             {"a\r\nb\r\n", []string{"1:a", "2:b"}},
		"blank lines":      {"\n\r\n  \t\na\n\nb\n\n", []string{"4:a", "6:b"}},
		"byte order mark":  {"\ufeffa\n\ufeffb\n", []string{"1:a", "2:b"}},
		"only a mark":      {"\ufeff", []string{}},
		"mark, then blank": {"\ufeff\na\n", []string{"2:a"}},
		"short as magic":   {"\x1f", []string{"1:\x1f"}},
		"as long as can":   {"12345678\r\nb", []string{"1:12345678", "2:b"}},
		"too long":         {"123456789\r\nb\n", []string{"1!line of 9 bytes, at most 8 can be published", "2:b"}},
		"too long, end":    {"b\n123456789", []string{"1:b", "2!line of 9 bytes, at most 8 can be published"}},
		"much too long": {strings.Repeat("x", 3*lineBufferBytes+5) + "\nb\n",
			[]string{fmt.Sprintf("1!line of %d bytes, at most 8 can be published", 3*lineBufferBytes+5), "2:b"}},
	} {
		for _, text := range []string{c.text, host.Gzip(t, c.text), host.Zstd(t, c.text)} {
			require.Equal(t, c.want, readLines(t, strings.NewReader(text), 8), name)
		}
		require.Equal(t, c.want, readLines(t, iotest.OneByteReader(strings.NewReader(c.text)), 8), name)
	}
}

// A file cut off in the middle is an error, not a short file; the lines before the cut are read.
func TestLineReaderCutOff(t *testing.T) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "%x\n", i*7919)
	}
	for _, whole := range []string{host.Gzip(t, text.String()), host.Zstd(t, text.String())} {
		got := readLines(t, strings.NewReader(whole[:len(whole)*3/4]), 100)
		require.Contains(t, got[len(got)-1], ": unexpected EOF;")
	}
	broken := errors.New("disk broken")
	got := readLines(t, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 8)
	require.Equal(t, []string{"1:a", "1!stdin:1: disk broken; the file was read up to there"}, got)
}

func TestProgressLine(t *testing.T) {
	p := NewProgress(io.Discard, 1000, "published", func() int64 { return 50 })
	require.Equal(t, "50 records published, 0 bad lines, 5/s", p.line(10*time.Second))
	zipped := host.Gzip(t, strings.Repeat("{}\n", 1000))
	readLines(t, p.Counting(strings.NewReader(zipped)), 100)
	require.EqualValues(t, len(zipped), p.read.Swap(250), "bytes as they are stored")
	p.Bad.Store(2)
	require.Equal(t, "50 records published, 2 bad lines, 5/s, 25%, about 30s left", p.line(10*time.Second))
	p.total = -1
	require.Equal(t, "50 records published, 2 bad lines, 5/s", p.line(10*time.Second))
}

func TestShowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		stop := ShowLine(&log, func(elapsed time.Duration) string {
			if elapsed < 6*time.Second {
				return ""
			}
			return Pace(elapsed.String(), 1, elapsed, 1, 3)
		})
		time.Sleep(16 * time.Second)
		stop()
		time.Sleep(time.Minute)
		require.Equal(t, "10s, 0/s, 33%, about 20s left\n15s, 0/s, 33%, about 30s left\n", log.String())
		require.Equal(t, "a, 0/s", Pace("a", 0, time.Minute, 0, 3))
	})
}
