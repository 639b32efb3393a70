package schema

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// secretText stands for a secret in every printout.
const secretText = "(set)"

// Reference returns a YAML file that holds every key that is not hidden, with its default, its help and its type.
func (s *Schema) Reference() []byte {
	shown := slices.DeleteFunc(s.Keys(), func(k Key) bool { return k.Hidden })
	return s.write(shown, func(k Key) []string {
		kind := k.Type()
		if k.Range != "" {
			kind += " " + k.rangeText()
		}
		return []string{
			k.Help,
			fmt.Sprintf("%s, default %s, %s", kind, k.shown(), s.Env(k)),
		}
	}, true)
}

// Print returns the configuration cfg as YAML, secrets as "(set)", without hidden keys that have their
// default. If origins is not nil, a comment behind each value says where it comes from.
func (s *Schema) Print(cfg any, origins Origins) []byte {
	changed := s.Differences(cfg, s.original)
	shown := slices.DeleteFunc(s.valuesOf(cfg),
		func(k Key) bool { return k.Hidden && !slices.Contains(changed, k.Name) })
	return s.write(shown, func(k Key) []string {
		if origins == nil {
			return nil
		}
		return []string{origins[k.Name]}
	}, false)
}

// Values returns the configuration cfg as nested maps, for JSON: durations and sizes as they are written in
// the file, secrets as "(set)".
func (s *Schema) Values(cfg any) map[string]any {
	root := map[string]any{}
	for _, k := range s.valuesOf(cfg) {
		m := root
		parts := strings.Split(k.Name, ".")
		for _, part := range parts[:len(parts)-1] {
			if m[part] == nil {
				m[part] = map[string]any{}
			}
			m = m[part].(map[string]any)
		}
		v := k.Default
		switch {
		case k.Secret:
			v = k.shown()
		case k.Type() == "duration", k.Type() == "size":
			v = k.format(v)
		}
		m[parts[len(parts)-1]] = v
	}
	return root
}

// Environ returns cfg as environment variables; Load makes the same configuration of them. They contain secrets.
func (s *Schema) Environ(cfg any) []string {
	var environ []string
	for _, k := range s.valuesOf(cfg) {
		environ = append(environ, s.Env(k)+"="+k.format(k.Default))
	}
	return environ
}

// valuesOf returns the keys with the values of cfg in place of their Default. Keys of files that hold secrets
// are left out: they have no field.
func (s *Schema) valuesOf(cfg any) []Key {
	keys := New(s.prefix, reflect.Indirect(reflect.ValueOf(cfg)).Interface()).keys
	return slices.DeleteFunc(keys, func(k Key) bool { return k.secret != "" })
}

// write prints the keys in order as nested YAML; with above, comments stand over their key,
// otherwise behind its value.
func (s *Schema) write(keys []Key, comments func(Key) []string, above bool) []byte {
	var out bytes.Buffer
	var open []string // the sections that the last key was in
	for _, k := range keys {
		parts := strings.Split(k.Name, ".")
		same := 0
		for same < len(open) && same < len(parts)-1 && open[same] == parts[same] {
			same++
		}
		if above && same < len(open) && same == len(parts)-1 {
			out.WriteString("\n") // back from a subsection to the keys of its parent
		}
		open = parts[:len(parts)-1]
		for depth := same; depth < len(open); depth++ {
			if above {
				out.WriteString("\n")
				comment(&out, depth, s.Section(strings.Join(open[:depth+1], ".")).Help)
			}
			fmt.Fprintf(&out, "%s%s:\n", indent(depth), open[depth])
		}
		notes := comments(k)
		line := fmt.Sprintf("%s%s: %s", indent(len(open)), parts[len(parts)-1], k.shown())
		if above {
			for _, note := range notes {
				comment(&out, len(open), note)
			}
			fmt.Fprintln(&out, line)
			continue
		}
		if len(notes) > 0 {
			line += " # " + strings.Join(notes, " ")
		}
		fmt.Fprintln(&out, line)
	}
	return out.Bytes()
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// commentWidth is where comments are wrapped, in bytes.
const commentWidth = 110

func comment(out *bytes.Buffer, depth int, text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+len(word) > commentWidth {
			fmt.Fprintf(out, "%s#%s\n", indent(depth), line)
			line = ""
		}
		line += " " + word
	}
	if line != "" {
		fmt.Fprintf(out, "%s#%s\n", indent(depth), line)
	}
}

// shown returns the default of the key as a YAML scalar or flow list.
func (k Key) shown() string {
	v := reflect.ValueOf(k.Default)
	switch {
	case k.Secret && v.Len() > 0:
		return secretText
	case k.Type() == "list":
		items := make([]string, v.Len())
		for i := range items {
			items[i] = yamlText(v.Index(i).String())
		}
		return "[" + strings.Join(items, ", ") + "]"
	case k.Type() == "string":
		return yamlText(v.String())
	default:
		return k.format(k.Default)
	}
}

// yamlText returns one string as YAML. It is quoted where YAML, or a flow list around it, needs that.
func yamlText(text string) string {
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.ContainsAny(text, ",[]{}\n") {
		node.Style = yaml.DoubleQuotedStyle
	}
	out, err := yaml.Marshal(&node)
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSuffix(string(out), "\n")
}
