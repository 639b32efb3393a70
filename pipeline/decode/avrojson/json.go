package avrojson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/twmb/avro"
)

// maxDepth is the deepest nesting of a value that is read. Each level takes stack memory.
const maxDepth = 1000

// ErrTooLong says that a value makes more JSON than is allowed.
var ErrTooLong = errors.New("the value claims more")

// JSON returns a value of the schema as JSON of at most about most bytes; of more, the error is ErrTooLong.
// Time and memory grow with the bytes of value and JSON, whatever the value claims.
//
// A union is its branch alone. Bytes and fixed are strings with the same bytes, or a number if they are a
// decimal. NaN and infinities are null. Dates and times are the numbers that stand for them.
func (s *Schema) JSON(value []byte, most int) ([]byte, error) {
	r := reader{in: value, out: make([]byte, 0, min(most, len(value)+len(value)/8+256)), most: most}
	if err := r.value(s.root, 0); err != nil {
		return nil, fmt.Errorf("%w, at byte %d of %d", err, len(value)-len(r.in), len(value))
	}
	if len(r.in) > 0 {
		return nil, fmt.Errorf("%d bytes follow the value", len(r.in))
	}
	return r.out, nil
}

// reader reads a value from in and appends its JSON to out.
type reader struct {
	in, out []byte
	most    int
}

var errCutOff = errors.New("the value is cut off")

func (r *reader) value(n *node, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("the value is nested deeper than %d levels", maxDepth)
	case len(r.out) > r.most:
		return fmt.Errorf("%w than %d bytes", ErrTooLong, r.most)
	}
	switch n.kind {
	case "null":
		r.out = append(r.out, "null"...)
	case "int", "long":
		v, err := r.long()
		r.out = strconv.AppendInt(r.out, v, 10)
		return err
	case "union", "enum":
		return r.choice(n, depth)
	case "array":
		return r.blocks('[', ']', func() error { return r.value(n.of[0], depth+1) })
	case "map":
		return r.blocks('{', '}', func() error {
			key, err := r.sized()
			r.out = append(appendString(r.out, string(key)), ':')
			if err != nil {
				return err
			}
			return r.value(n.of[0], depth+1)
		})
	case "record", "error":
		return r.record(n, depth)
	default:
		return r.scalar(n)
	}
	return nil
}

func (r *reader) record(n *node, depth int) error {
	for i, field := range n.of {
		r.out = append(r.out, n.labels[i]...)
		if err := r.value(field, depth+1); err != nil {
			return err
		}
	}
	if len(n.of) == 0 {
		r.out = append(r.out, '{')
	}
	r.out = append(r.out, '}')
	return nil
}

// choice reads the branch of a union or the symbol of an enum, which a number names.
func (r *reader) choice(n *node, depth int) error {
	i, err := r.long()
	switch {
	case err != nil:
		return err
	case n.kind == "enum" && i >= 0 && i < int64(len(n.labels)):
		r.out = append(r.out, n.labels[i]...)
		return nil
	case n.kind == "union" && i >= 0 && i < int64(len(n.of)):
		return r.value(n.of[i], depth+1)
	}
	return fmt.Errorf("the value names number %d of the %s", i, n.kind)
}

// blocks reads the items of an array or a map. They come in blocks with a count before each. A negative count
// has the block's length behind it. A block of 0 items is the end.
func (r *reader) blocks(begin, end byte, item func() error) error {
	before := begin
	for {
		count, err := r.long()
		if err == nil && count < 0 {
			count = -count
			_, err = r.long()
		}
		switch {
		case err != nil:
			return err
		case count < 0:
			return errors.New("the value has a block with an impossible count")
		case count == 0 && before == begin:
			r.out = append(r.out, begin, end)
			return nil
		case count == 0:
			r.out = append(r.out, end)
			return nil
		}
		for range count {
			r.out = append(r.out, before)
			before = ','
			if err := item(); err != nil {
				return err
			}
		}
	}
}

// scalar reads what has neither parts nor branches.
func (r *reader) scalar(n *node) error {
	switch n.kind {
	case "boolean":
		b, err := r.bytes(1)
		if err == nil {
			r.out = strconv.AppendBool(r.out, b[0] != 0)
		}
		return err
	case "float":
		b, err := r.bytes(4)
		if err == nil {
			r.float(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
		}
		return err
	case "double":
		b, err := r.bytes(8)
		if err == nil {
			r.float(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
		}
		return err
	}
	var b []byte
	var err error
	if n.kind == "fixed" {
		b, err = r.bytes(int64(n.size))
	} else {
		b, err = r.sized()
	}
	const longestDecimal = 64 // bytes; making digits of more takes longer than their number
	switch {
	case err != nil:
		return err
	case n.scale >= 0 && len(b) > 0 && len(b) <= longestDecimal:
		r.out = append(r.out, avro.RatFromBytes(b, n.scale).FloatString(n.scale)...)
	default:
		r.out = appendString(r.out, string(b))
	}
	return nil
}

func (r *reader) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.out = append(r.out, "null"...)
		return
	}
	r.out = strconv.AppendFloat(r.out, v, 'g', -1, bits)
}

func (r *reader) long() (int64, error) {
	v, n := binary.Varint(r.in)
	if n <= 0 {
		return 0, errCutOff
	}
	r.in = r.in[n:]
	return v, nil
}

// sized reads bytes with their number before them.
func (r *reader) sized() ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return nil, err
	}
	return r.bytes(n)
}

func (r *reader) bytes(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(r.in)) {
		return nil, errCutOff
	}
	b := r.in[:n]
	r.in = r.in[n:]
	return b, nil
}

// appendString appends s in quotes. Bytes that are no UTF-8 stay as they are.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[start:i]...)
		start = i + 1
		if c < ' ' {
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			out = append(out, '\\', c)
		}
	}
	return append(append(out, s[start:]...), '"')
}
