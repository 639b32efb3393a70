package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// valueReader reads JSON values that stand one after another, and the elements of lists. Damage ends the file: no
// reader can tell what stands behind it. Not for concurrent use.
type valueReader struct {
	source
	decoder *json.Decoder
	begin   int64 // offset of the decoder's first byte
	given   int64 // bytes that the decoder has got
	allowed int64 // offset up to which it gets more
	breaks  []int64
	inList  bool
	raw     json.RawMessage
	plain   bytes.Buffer
}

var errNoEnd = errors.New("it has no end within the length that is read")

func newValueReader(s source) *valueReader {
	v := &valueReader{source: s}
	v.line++
	v.decoder = json.NewDecoder(v)
	return v
}

// Read hands the file to the decoder, no further than allowed, and remembers its line ends.
func (v *valueReader) Read(p []byte) (int, error) {
	room := v.allowed - v.given
	if room <= 0 {
		return 0, errNoEnd
	}
	n, err := v.Reader.Read(p[:min(int64(len(p)), room)])
	for i, c := range p[:n] {
		if c == '\n' {
			v.breaks = append(v.breaks, v.given+int64(i))
		}
	}
	v.given += int64(n)
	return n, err
}

func (v *valueReader) offset() int64 { return v.begin + v.decoder.InputOffset() }

// lineOf returns the line of an offset, which must not be before that of an earlier call.
func (v *valueReader) lineOf(offset int64) int {
	n := 0
	for n < len(v.breaks) && v.breaks[n] < offset {
		n++
	}
	v.breaks, v.line = v.breaks[:copy(v.breaks, v.breaks[n:])], v.line+n
	return v.line
}

// next returns the next value, in one line.
func (v *valueReader) next() (Article, error) {
	for {
		v.allowed = v.offset() + int64(v.most())
		switch c, err := v.peek(); {
		case err != nil:
			return v.damaged(err)
		case !v.inList && c == '[', v.inList && c == ']':
			if _, err := v.decoder.Token(); err != nil {
				return v.damaged(err)
			}
			v.inList = c == '['
			continue
		}
		if err := v.decoder.Decode(&v.raw); err != nil {
			return v.damaged(err)
		}
		end := v.offset()
		a := Article{Place: v.lineOf(end - int64(len(v.raw))), Idle: v.Buffered() == 0 && v.given-end < 3}
		v.plain.Reset()
		if err := json.Compact(&v.plain, v.raw); err != nil {
			return a, err
		}
		if a.Value = v.plain.Bytes(); len(a.Value) > v.limit {
			return a, TooLong("value", a.Value, len(a.Value), v.limit)
		}
		return a, nil
	}
}

// peek returns the next byte that is not blank. Between values, it skips what is blank and no JSON.
func (v *valueReader) peek() (byte, error) {
	for {
		v.decoder.More()
		var next [1]byte
		if n, _ := v.decoder.Buffered().Read(next[:]); n == 0 {
			_, err := v.decoder.Token()
			return 0, err
		}
		if v.inList || !isMark(next[0]) {
			return next[0], nil
		}
		rest, err := io.ReadAll(v.decoder.Buffered())
		if err != nil {
			return 0, err
		}
		skipped := 0
		for skipped < len(rest) && isMark(rest[skipped]) {
			skipped++
		}
		v.begin = v.offset() + int64(skipped)
		v.allowed = v.begin + int64(v.most())
		v.decoder = json.NewDecoder(io.MultiReader(bytes.NewReader(rest[skipped:]), v))
	}
}

// isMark says whether a byte is one of those in blank that are no white space of JSON.
func isMark(c byte) bool {
	return c == 0 || c == 0x1e || c == byteOrderMark[0] || c == byteOrderMark[1] || c == byteOrderMark[2]
}

// damaged says what is wrong with the value that follows, and where.
func (v *valueReader) damaged(err error) (Article, error) {
	rest, _ := io.ReadAll(v.decoder.Buffered())
	value := bytes.TrimLeft(rest, ", \t\r\n")
	start := v.offset() + int64(len(rest)-len(value))
	a := Article{Place: v.lineOf(start)}
	syntax, token := (*json.SyntaxError)(nil), json.RawMessage(nil)
	switch {
	case errors.Is(err, io.EOF) && !v.inList:
		return a, io.EOF
	case errors.Is(err, io.EOF):
		return a, fmt.Errorf("the list has no end: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errNoEnd):
		return a, fmt.Errorf("a value begins here that is damaged: %w", err)
	case !errors.As(err, &syntax):
		return a, fmt.Errorf("read: %w", err)
	}
	if found := (*json.SyntaxError)(nil); errors.As(json.Unmarshal(value, &token), &found) && len(value) > 0 {
		at := max(1, int(min(found.Offset, int64(len(value)))))
		syntax, err = found, fmt.Errorf("%w in line %d", found, v.lineOf(start+int64(at)))
		if c := value[at-1]; c == 'N' || c == 'I' {
			return a, fmt.Errorf("NaN or Infinity, which is no JSON, stands in line %d: write one article a line, where "+
				"it is read as null: python3 -c 'import json, sys; [print(json.dumps(a)) for a in "+
				"json.load(sys.stdin)]' < FILE", v.line)
		}
	}
	return a, fmt.Errorf("a value begins here that is damaged JSON: %w", err)
}
