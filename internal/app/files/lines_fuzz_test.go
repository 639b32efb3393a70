package files

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzLines reads arbitrary input, plain or compressed: it ends, and no line is longer than the limit or blank.
func FuzzLines(f *testing.F) {
	for _, text := range []string{"", "a\nb\r\n\n c", "\ufeffa", "\n", "\x1f\x8b", "\x28\xb5\x2f\xfd",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", strings.Repeat("x", 100) + "\ny", "\xff\x00\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 64
		l, err := newLineReader(bytes.NewReader(data), limit)
		if err != nil {
			return
		}
		defer l.Close()
		before := 0
		for range 1 << 20 {
			line, number, err := l.Next()
			if tooLong := (*SkipError)(nil); errors.As(err, &tooLong) {
				continue
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && len(data) == 0 {
					t.Fatal(err)
				}
				return
			}
			if len(line) > limit || len(bytes.TrimSpace(line)) == 0 || number <= before {
				t.Fatalf("line %d after %d: %q", number, before, line)
			}
			before = number
		}
	})
}
