package schema

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"go.yaml.in/yaml/v3"
)

// secretText stands for a secret in every printout.
const secretText = "(set)"

// commentWidth is where comments are wrapped, in characters.
const commentWidth = 110

// Reference returns a YAML file that holds every key that is not hidden, with its default, its help and its type.
func (s *Schema) Reference() []byte {
	shown := slices.DeleteFunc(s.Keys(), func(k Key) bool { return k.Hidden })
	return s.write(shown, true, func(k Key, name, _ *yaml.Node) {
		kind := k.Type()
		if k.Range != "" {
			kind += " " + strings.ReplaceAll(k.Range, "..", " to ")
		}
		name.HeadComment = comment(k.Help) + "\n" + comment(fmt.Sprintf("%s, default %s, %s", kind, k.shown(), k.Env))
	})
}

// Print returns the configuration cfg as YAML, secrets as "(set)", without hidden keys that have their
// default. If origins is not nil, a comment behind each value says where it comes from.
func (s *Schema) Print(cfg any, origins Origins) []byte {
	shown := slices.DeleteFunc(s.valuesOf(cfg),
		func(k Key) bool { return k.Hidden && reflect.DeepEqual(k.Default, s.byName[k.Name].Default) })
	return s.write(shown, false, func(k Key, _, value *yaml.Node) {
		if origins != nil {
			value.LineComment = "# " + origins[k.Name]
		}
	})
}

// Values returns what Print prints as nested maps, for JSON.
func (s *Schema) Values(cfg any) (root map[string]any, err error) {
	return root, yaml.Unmarshal(s.Print(cfg, nil), &root)
}

// Environ returns cfg as environment variables; Load makes the same configuration of them. They contain secrets.
func (s *Schema) Environ(cfg any) []string {
	var environ []string
	for _, k := range s.valuesOf(cfg) {
		environ = append(environ, k.Env+"="+k.format(k.Default))
	}
	return environ
}

// write prints the keys in order as nested YAML; remark may add comments to the name and the value of a key. With help,
// the help of a section stands above it.
func (s *Schema) write(keys []Key, help bool, remark func(k Key, name, value *yaml.Node)) []byte {
	sections := map[string]*yaml.Node{"": {Kind: yaml.MappingNode}}
	add := func(key string, value *yaml.Node) (name *yaml.Node) {
		parent, last := "", key
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			parent, last = key[:i], key[i+1:]
		}
		name = &yaml.Node{Kind: yaml.ScalarNode, Value: last}
		sections[parent].Content = append(sections[parent].Content, name, value)
		return name
	}
	for _, k := range keys {
		for i, r := range k.Name {
			if r == '.' && sections[k.Name[:i]] == nil {
				section := k.Name[:i]
				sections[section] = &yaml.Node{Kind: yaml.MappingNode}
				if name, says := add(section, sections[section]), s.sections[section]; help && says != "" {
					name.HeadComment = "\n" + comment(says)
				}
			}
		}
		value := k.node()
		remark(k, add(k.Name, value), value)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	_ = enc.Encode(sections[""]) // nodes of scalars and lists can be encoded
	return out.Bytes()
}

// comment returns a sentence as lines of a comment.
func comment(sentence string) string {
	var lines []string
	for line := range strings.Lines(text.WrapSoft(sentence, commentWidth)) {
		lines = append(lines, "# "+strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// node is the default of the key in YAML.
func (k Key) node() *yaml.Node {
	node := new(yaml.Node)
	value := k.Default
	switch {
	case k.Secret && value != "":
		value = secretText
	case k.Type() == "duration", k.Type() == "size":
		return &yaml.Node{Kind: yaml.ScalarNode, Value: k.format(value)}
	}
	_ = node.Encode(value) // strings, numbers and lists of strings can be encoded
	if node.Kind == yaml.SequenceNode {
		node.Style = yaml.FlowStyle
	} else if strings.Contains(node.Value, "\n") {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// shown is the default of the key as one line of YAML.
func (k Key) shown() string {
	line, _ := yaml.Marshal(k.node())
	return strings.TrimSuffix(string(line), "\n")
}
