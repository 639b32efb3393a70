package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// valueReader reads JSON values that stand one after another, and the elements of lists. Damage ends the file: no
// reader can tell what stands behind it. Not for concurrent use.
type valueReader struct {
	readAhead
	decoder *json.Decoder
	inList  bool
	raw     json.RawMessage
	plain   bytes.Buffer
}

func newValueReader(s *source) *valueReader {
	v := &valueReader{readAhead: readAhead{source: s}}
	v.decoder = json.NewDecoder(&v.readAhead)
	return v
}

// rest returns what the decoder has got and not used.
func (v *valueReader) rest() []byte { return v.kept[v.decoder.InputOffset()-v.begin:] }

// next returns the next value, in one line.
func (v *valueReader) next() (Article, error) {
	for {
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
		end := v.decoder.InputOffset()
		v.cut(end - int64(len(v.raw)))
		_, line := v.cut(end)
		v.plain.Reset()
		err := json.Compact(&v.plain, v.raw)
		return Article{Place: line, Value: v.plain.Bytes(), Idle: v.drained()}, err
	}
}

// peek returns the next byte that is not white space.
func (v *valueReader) peek() (byte, error) {
	v.decoder.More() // skips white space
	if rest := v.rest(); len(rest) > 0 {
		return rest[0], nil
	}
	_, err := v.decoder.Token()
	return 0, err
}

// damaged says what is wrong with the value that follows, and where.
func (v *valueReader) damaged(err error) (Article, error) {
	rest := v.rest()
	v.cut(v.decoder.InputOffset() + int64(len(rest)-len(bytes.TrimLeft(rest, ", \t\r\n"))))
	v.unread = len(v.kept)
	a, syntax := Article{Place: v.line + 1}, (*json.SyntaxError)(nil)
	switch {
	case errors.Is(err, io.EOF) && !v.inList:
		return a, io.EOF
	case errors.Is(err, io.EOF):
		return a, fmt.Errorf("the list has no end: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errNoEnd):
		return a, fmt.Errorf("a value begins here that is damaged: %w", err)
	case !errors.As(err, &syntax):
		return a, fmt.Errorf("read: %w", err)
	case strings.HasPrefix(err.Error(), "invalid character 'N'"), strings.HasPrefix(err.Error(), "invalid character 'I'"):
		remedy := "jq -c . FILE and pipe it into this command"
		if v.inList {
			remedy = "python3 -c 'import json, sys; [print(json.dumps(a)) for a in json.load(sys.stdin)]' < FILE"
		}
		return a, fmt.Errorf("NaN or Infinity, which is no JSON, stands in the value that begins here: write one article a "+
			"line, where it is read as null: %s", remedy)
	}
	return a, fmt.Errorf("a value begins here that is damaged JSON: %w", err)
}
