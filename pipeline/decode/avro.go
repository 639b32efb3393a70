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
	r.value(s.root, 0)
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("%w, at byte %d of %d", r.err, len(value)-len(r.in), len(value))
	case len(r.in) > 0:
		return nil, fmt.Errorf("%d bytes follow the value", len(r.in))
	}
	return r.out, nil
}

// avroReader reads a value from in and appends its JSON to out. After the first error nothing more is read.
type avroReader struct {
	in, out []byte
	most    int
	err     error
}

var errCutOff = errors.New("the value is cut off")

func (r *avroReader) value(n *avroType, depth int) {
	switch {
	case r.err != nil:
		return
	case depth > maxDepth:
		r.err = fmt.Errorf("the value is nested deeper than %d levels", maxDepth)
		return
	case len(r.out) > r.most:
		r.err = fmt.Errorf("%w than %d bytes", errTooLong, r.most)
		return
	}
	switch n.kind {
	case "null":
		r.out = append(r.out, "null"...)
	case "int", "long":
		r.out = strconv.AppendInt(r.out, r.long(), 10)
	case "union", "enum":
		r.choice(n, depth)
	case "array":
		r.blocks('[', ']', func() { r.value(n.of[0], depth+1) })
	case "map":
		r.blocks('{', '}', func() {
			r.out = append(appendString(r.out, string(r.sized())), ':')
			r.value(n.of[0], depth+1)
		})
	case "record", "error":
		r.record(n, depth)
	default:
		r.scalar(n)
	}
}

func (r *avroReader) record(n *avroType, depth int) {
	for i := 0; i < len(n.of) && r.err == nil; i++ {
		r.out = append(r.out, n.labels[i]...)
		r.value(n.of[i], depth+1)
	}
	if len(n.of) == 0 {
		r.out = append(r.out, '{')
	}
	r.out = append(r.out, '}')
}

// choice reads the branch of a union or the symbol of an enum, which a number names.
func (r *avroReader) choice(n *avroType, depth int) {
	switch i := r.long(); {
	case r.err != nil:
	case n.kind == "enum" && i >= 0 && i < int64(len(n.labels)):
		r.out = append(r.out, n.labels[i]...)
	case n.kind == "union" && i >= 0 && i < int64(len(n.of)):
		r.value(n.of[i], depth+1)
	default:
		r.err = fmt.Errorf("the value names number %d of the %s", i, n.kind)
	}
}

// blocks reads the items of an array or a map. They come in blocks with a count before each. A negative count
// has the block's length behind it. A block of 0 items is the end.
func (r *avroReader) blocks(begin, end byte, item func()) {
	before := begin
	for r.err == nil {
		count := r.long()
		if count < 0 {
			count = -count
			r.long()
		}
		switch {
		case r.err != nil:
		case count < 0:
			r.err = errors.New("the value has a block with an impossible count")
		case count == 0 && before == begin:
			r.out = append(r.out, begin, end)
			return
		case count == 0:
			r.out = append(r.out, end)
			return
		}
		for ; count > 0 && r.err == nil; count-- {
			r.out = append(r.out, before)
			before = ','
			item()
		}
	}
}

// scalar reads what has neither parts nor branches.
func (r *avroReader) scalar(n *avroType) {
	var b []byte
	if n.size >= 0 {
		b = r.bytes(int64(n.size))
	} else {
		b = r.sized()
	}
	const longestDecimal = 64 // bytes; making digits of more takes longer than their number
	switch {
	case r.err != nil:
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
}

func (r *avroReader) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.out = append(r.out, "null"...)
		return
	}
	r.out = strconv.AppendFloat(r.out, v, 'g', -1, bits)
}

func (r *avroReader) long() int64 {
	v, n := binary.Varint(r.in)
	if n <= 0 {
		r.err = errCutOff
		return 0
	}
	r.in = r.in[n:]
	return v
}

// sized reads bytes with their number before them.
func (r *avroReader) sized() []byte { return r.bytes(r.long()) }

func (r *avroReader) bytes(n int64) []byte {
	if n < 0 || n > int64(len(r.in)) {
		r.err = errCutOff
		return nil
	}
	b := r.in[:n]
	r.in = r.in[n:]
	return b
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
