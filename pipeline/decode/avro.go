package decode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/avro"
)

// Values in Avro's binary form are read as JSON, so that the paths of input.fields lead into both alike. The library
// parses schemas. It does not decode values: what it builds of them can be ten thousand times as large as they are.

// Schema is the schema with which values were written. Safe for concurrent use.
type Schema struct{ root *avroType }

// avroType is one type of a schema. Types that contain themselves make a circle.
type avroType struct {
	kind string // Avro's name of the type: "record", "union", "long"
	of   []*avroType
	// of a record, its fields' names as JSON, each behind a brace or comma; of an enum, its symbols as JSON
	labels []string
	size   int // of a value, in bytes; -1: it stands before the value
	scale  int // of a decimal; -1: none
}

// ParseSchema returns a schema. Types of other schemas that it names are those of references, in an order in which
// each comes before those that name it. Names may have characters that the specification forbids: producers
// in several languages do not check them.
func ParseSchema(schema string, references ...string) (*Schema, error) {
	var known avro.SchemaCache
	c := avroTypes{}
	for _, text := range append(references, schema) {
		parsed, err := known.Parse(text, avro.WithLaxNames(nil))
		if err != nil {
			return nil, err
		}
		root, err := c.add(parsed.Root(), "")
		if err != nil {
			return nil, err
		}
		c[""] = root
	}
	return &Schema{c[""]}, nil
}

// avroTypes holds the types that have a name, by their full names, and under "" the type of the schema itself.
type avroTypes map[string]*avroType

// add makes a type that stands in a namespace.
func (c avroTypes) add(t *avro.SchemaNode, namespace string) (*avroType, error) {
	n := &avroType{kind: t.Type, size: t.Size, scale: -1}
	if t.LogicalType == "decimal" {
		n.scale = t.Scale
	}
	var err error
	add := func(part *avro.SchemaNode) {
		var made *avroType
		if err == nil {
			made, err = c.add(part, namespace)
		}
		n.of = append(n.of, made)
	}
	switch t.Type {
	case "null", "int", "long":
	case "boolean":
		n.size = 1
	case "float":
		n.size = 4
	case "double":
		n.size = 8
	case "bytes", "string":
		n.size = -1
	case "array":
		add(t.Items)
	case "map":
		add(t.Values)
	case "union":
		for i := range t.Branches {
			add(&t.Branches[i])
		}
	case "record", "error", "enum", "fixed":
		c[fullName(t.Name, t.Namespace)] = n
		namespace = t.Namespace
		for _, symbol := range t.Symbols {
			n.labels = append(n.labels, string(appendString(nil, symbol)))
		}
		before := "{"
		for i := range t.Fields {
			n.labels = append(n.labels, before+string(appendString(nil, t.Fields[i].Name))+":")
			add(&t.Fields[i].Type)
			before = ","
		}
	default:
		for _, name := range []string{fullName(t.Type, namespace), t.Type} {
			if known := c[name]; known != nil {
				return known, nil
			}
		}
		return nil, fmt.Errorf("the schema names the type %s, which is nowhere defined", strconv.Quote(t.Type))
	}
	return n, err
}

// fullName puts a namespace before a name that has none.
func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// errTooLong says that a value makes more JSON than is allowed.
var errTooLong = errors.New("the value claims more")

// JSON returns a value of the schema as JSON of at most about most bytes; of more, the error is errTooLong.
// Time and memory grow with the bytes of value and JSON, whatever the value claims.
//
// A union is its branch alone. Bytes and fixed are strings with the same bytes, or a number if they are a
// decimal. NaN and infinities are null. Dates and times are the numbers that stand for them.
func (s *Schema) JSON(value []byte, most int) ([]byte, error) {
	r := avroReader{in: value, out: make([]byte, 0, min(most, len(value)+len(value)/8+256)), most: most}
	if err := r.value(s.root, 0); err != nil {
		return nil, fmt.Errorf("%w, at byte %d of %d", err, len(value)-len(r.in), len(value))
	}
	if len(r.in) > 0 {
		return nil, fmt.Errorf("%d bytes follow the value", len(r.in))
	}
	return r.out, nil
}

// avroReader reads a value from in and appends its JSON to out.
type avroReader struct {
	in, out []byte
	most    int
}

var errCutOff = errors.New("the value is cut off")

func (r *avroReader) value(n *avroType, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("the value is nested deeper than %d levels", maxDepth)
	case len(r.out) > r.most:
		return fmt.Errorf("%w than %d bytes", errTooLong, r.most)
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

func (r *avroReader) record(n *avroType, depth int) error {
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
func (r *avroReader) choice(n *avroType, depth int) error {
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
func (r *avroReader) blocks(begin, end byte, item func() error) error {
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
func (r *avroReader) scalar(n *avroType) (err error) {
	var b []byte
	if n.size >= 0 {
		b, err = r.bytes(int64(n.size))
	} else {
		b, err = r.sized()
	}
	const longestDecimal = 64 // bytes; making digits of more takes longer than their number
	switch {
	case err != nil:
		return err
	case n.kind == "boolean":
		r.out = strconv.AppendBool(r.out, b[0] != 0)
	case n.kind == "float":
		r.float(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case n.kind == "double":
		r.float(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	case n.scale >= 0 && len(b) > 0 && len(b) <= longestDecimal:
		r.out = append(r.out, avro.RatFromBytes(b, n.scale).FloatString(n.scale)...)
	default:
		r.out = appendString(r.out, string(b))
	}
	return nil
}

func (r *avroReader) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.out = append(r.out, "null"...)
		return
	}
	r.out = strconv.AppendFloat(r.out, v, 'g', -1, bits)
}

func (r *avroReader) long() (int64, error) {
	v, n := binary.Varint(r.in)
	if n <= 0 {
		return 0, errCutOff
	}
	r.in = r.in[n:]
	return v, nil
}

// sized reads bytes with their number before them.
func (r *avroReader) sized() ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return nil, err
	}
	return r.bytes(n)
}

func (r *avroReader) bytes(n int64) ([]byte, error) {
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
