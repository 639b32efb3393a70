package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file reads a YAML file; an empty path names none. Every mistake is reported as "file:line: message".
func (s *source) file(path string) {
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		s.fail("configuration file: %w", err)
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return
	case err != nil:
		s.fail("%s: %w", path, withoutValue(err))
		return
	}
	fileReader{s, path}.section("", doc.Content[0])
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		s.fail("%s: holds more than one YAML document", path)
	}
}

// errAlias replaces the message of the YAML parser about an unknown alias. It is the only message of the
// parser that quotes the file, and the quoted alias can be a password: one that begins with an asterisk and
// stands without quotes.
var errAlias = errors.New("yaml: a value begins with *, which YAML reads as an alias; put the value in quotes")

func withoutValue(err error) error {
	if strings.HasPrefix(err.Error(), "yaml: unknown anchor ") {
		return errAlias
	}
	return err
}

// fileReader reads the nodes of a YAML file.
type fileReader struct {
	*source
	path string
}

// wrong notes a mistake in the line of a node.
func (f fileReader) wrong(n *yaml.Node, format string, args ...any) {
	f.fail("%s:%d: %s", f.path, n.Line, fmt.Sprintf(format, args...))
}

// section reads the keys below prefix, which is "" or ends in a dot.
func (f fileReader) section(prefix string, n *yaml.Node) {
	if isNull(n) {
		return // all keys of the section are commented out
	}
	if n.Kind != yaml.MappingNode {
		if prefix == "" {
			f.wrong(n, "want settings as name: value")
			return
		}
		f.wrong(n, "%s is a section with settings below it, not a value", prefix[:len(prefix)-1])
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		nameNode, value := n.Content[i], n.Content[i+1]
		name := prefix + nameNode.Value
		if first, twice := lines[name]; twice {
			f.wrong(nameNode, "%s is already set in line %d", name, first)
			continue
		}
		lines[name] = nameNode.Line
		if k, ok := f.byName[name]; ok {
			f.value(k, nameNode, value)
		} else if _, found := f.sections[name]; found {
			f.section(name+".", value)
		} else {
			sections := slices.Sorted(maps.Keys(f.sections))
			f.wrong(nameNode, "unknown key %s%s", name, f.didYouMean(name, sections, func(k Key) string { return k.Name }))
		}
	}
}

func (f fileReader) value(k Key, nameNode, n *yaml.Node) {
	value, err := k.fromNode(n)
	if err != nil {
		f.wrong(n, "%s %s%s", k.Name, err, k.got(n))
		return
	}
	if name, _ := value.(string); k.file && name != "" && !filepath.IsAbs(name) {
		value = filepath.Join(filepath.Dir(f.path), name)
	}
	f.set[k.Name] = setting{value: value, origin: fmt.Sprintf("%s:%d", f.path, nameNode.Line)}
}

func (k Key) fromNode(n *yaml.Node) (any, error) {
	switch {
	case isNull(n):
		return nil, errors.New(`has no value; write "" or [] for an empty one`)
	case n.Kind == yaml.ScalarNode:
		return k.parse(n.Value)
	case n.Kind == yaml.SequenceNode && k.Type() == "list":
		items := make([]string, len(n.Content))
		for i, item := range n.Content {
			if item.Kind != yaml.ScalarNode || isNull(item) {
				return nil, errors.New("wants a list of plain values")
			}
			items[i] = item.Value
		}
		return items, nil
	default:
		return nil, fmt.Errorf("wants one value of type %s", k.Type())
	}
}

// got returns the end of a message that shows the rejected value. It is empty for a secret.
func (k Key) got(n *yaml.Node) string {
	if k.Secret || n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	return fmt.Sprintf(", not %q", n.Value)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
