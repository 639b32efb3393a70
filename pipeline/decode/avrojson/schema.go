// Package avrojson reads values in Avro's binary form as JSON, so that the paths of input.fields lead into
// both alike. The library parses schemas. It does not decode values: what it builds of them can be ten
// thousand times as large as they are.
package avrojson

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/avro"
)

// Schema is the schema with which values were written. Safe for concurrent use.
type Schema struct{ root *node }

// node is one type of a schema. Types that contain themselves make a circle of nodes.
type node struct {
	kind string // Avro's name of the type: "record", "union", "long"
	of   []*node
	// of a record, its fields' names as JSON, each behind a brace or comma; of an enum, its symbols as JSON
	labels []string
	size   int // of fixed, in bytes
	scale  int // of a decimal; -1: none
}

// Parse returns a schema. Types of other schemas that it names are those of references, in an order in which
// each comes before those that name it. Names may have characters that the specification forbids: producers
// in several languages do not check them.
func Parse(schema string, references ...string) (*Schema, error) {
	var known avro.SchemaCache
	c := compiler{}
	for _, text := range append(references, schema) {
		parsed, err := known.Parse(text, avro.WithLaxNames(nil))
		if err != nil {
			return nil, err
		}
		root, err := c.node(parsed.Root(), "")
		if err != nil {
			return nil, err
		}
		c[""] = root
	}
	return &Schema{c[""]}, nil
}

// compiler holds the types that have a name, by their full names, and under "" the type of the schema itself.
type compiler map[string]*node

// node makes a node of a type that stands in a namespace.
func (c compiler) node(t *avro.SchemaNode, namespace string) (*node, error) {
	n := &node{kind: t.Type, size: t.Size, scale: -1}
	if t.LogicalType == "decimal" {
		n.scale = t.Scale
	}
	var err error
	add := func(part *avro.SchemaNode) {
		var made *node
		if err == nil {
			made, err = c.node(part, namespace)
		}
		n.of = append(n.of, made)
	}
	switch t.Type {
	case "null", "boolean", "int", "long", "float", "double", "bytes", "string":
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
