package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Sources names the sources of Load. With the zero value Load returns the defaults.
type Sources struct {
	File    string         // YAML file, "" for none
	Environ []string       // as os.Environ returns it
	Ignored []string       // variables with the prefix that are no settings; "X_" stands for all that begin with it
	Flags   *pflag.FlagSet // flags added by AddFlags, already parsed
}

// Origins maps the name of each key to the place where its value was written: "default", "file:line", the
// name of a variable or a flag.
type Origins map[string]string

// Load fills the struct that into points to, which has the type that was given to New. The error joins all
// mistakes of the first source that has any.
func (s *Schema) Load(into any, from Sources) (Origins, error) {
	merged := map[string]setting{}
	for _, read := range []func(*source){(*source).file, (*source).environ, (*source).flags} {
		one := &source{Schema: s, Sources: from, set: map[string]setting{}}
		if read(one); len(one.errs) == 0 {
			one.secrets()
		}
		if len(one.errs) > 0 {
			return nil, errors.Join(one.errs...)
		}
		maps.Copy(merged, one.set)
	}
	origins := Origins{}
	for _, k := range s.keys {
		if k.field == nil {
			continue
		}
		set, given := merged[k.Name]
		if !given {
			set = setting{k.Default, "default"}
		}
		reflect.ValueOf(into).Elem().FieldByIndex(k.field).Set(reflect.ValueOf(set.value))
		origins[k.Name] = set.origin
	}
	return origins, nil
}

// setting is a value with its origin.
type setting struct {
	value  any
	origin string
}

// source is what one source of Load sets, by the names of keys, and its mistakes.
type source struct {
	*Schema
	Sources
	set  map[string]setting
	errs []error
}

func (s *source) fail(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// environ reads the variables that begin with the prefix of the schema, except those in Ignored.
func (s *source) environ() {
	for _, variable := range slices.Sorted(slices.Values(s.Sources.Environ)) {
		name, text, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, s.prefix) || slices.ContainsFunc(s.Ignored, func(i string) bool {
			return name == i || strings.HasSuffix(i, "_") && strings.HasPrefix(name, i)
		}) {
			continue
		}
		k, ok := s.byEnv[name]
		if !ok && strings.HasSuffix(name, "_PORT") && strings.Contains(text, "://") {
			s.fail("environment: Kubernetes has set %s and more for a Service of that name: set "+
				"enableServiceLinks: false in the specification of the pod", name)
		} else if !ok {
			s.fail("environment: unknown variable %s%s", name, s.didYouMean(name, nil, func(k Key) string { return k.Env }))
		} else if value, err := k.parse(text); err != nil {
			s.fail("environment: %s %w", name, err)
		} else {
			s.set[k.Name] = setting{value, name}
		}
	}
}

// didYouMean returns the end of a message about an unknown name. There are these names, and one of each key.
func (s *source) didYouMean(name string, names []string, of func(Key) string) string {
	for _, k := range s.keys {
		names = append(names, of(k))
	}
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// file reads the YAML file. Every mistake is reported as "file:line: message".
func (s *source) file() {
	if s.File == "" {
		return
	}
	data, err := os.ReadFile(s.File)
	if err != nil {
		s.fail("configuration file: %w", err)
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return
	case err != nil && strings.HasPrefix(err.Error(), "yaml: unknown anchor "):
		s.fail("%s: %w", s.File, errAlias)
		return
	case err != nil:
		s.fail("%s: %w", s.File, err)
		return
	}
	s.section("", doc.Content[0])
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		s.fail("%s: holds more than one YAML document", s.File)
	}
}

// errAlias replaces the message of the YAML parser about an unknown alias. It is the only message of the
// parser that quotes the file, and the quoted alias can be a password: one that begins with an asterisk and
// stands without quotes.
var errAlias = errors.New("yaml: a value begins with *, which YAML reads as an alias; put the value in quotes")

// wrong notes a mistake in the line of a node.
func (s *source) wrong(n *yaml.Node, format string, args ...any) {
	s.fail("%s:%d: %s", s.File, n.Line, fmt.Sprintf(format, args...))
}

// section reads the keys below prefix, which is "" or ends in a dot.
func (s *source) section(prefix string, n *yaml.Node) {
	switch {
	case isNull(n): // all keys of the section are commented out
		return
	case n.Kind != yaml.MappingNode && prefix == "":
		s.wrong(n, "want settings as name: value")
		return
	case n.Kind != yaml.MappingNode:
		s.wrong(n, "%s is a section with settings below it, not a value", prefix[:len(prefix)-1])
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		nameNode, value := n.Content[i], n.Content[i+1]
		name := prefix + nameNode.Value
		if first, twice := lines[name]; twice {
			s.wrong(nameNode, "%s is already set in line %d", name, first)
			continue
		}
		lines[name] = nameNode.Line
		if k, ok := s.byName[name]; ok {
			s.value(k, nameNode, value)
		} else if _, found := s.sections[name]; found {
			s.section(name+".", value)
		} else {
			sections := slices.Sorted(maps.Keys(s.sections))
			s.wrong(nameNode, "unknown key %s%s", name, s.didYouMean(name, sections, func(k Key) string { return k.Name }))
		}
	}
}

func (s *source) value(k Key, nameNode, n *yaml.Node) {
	value, err := k.fromNode(n)
	if err != nil {
		s.wrong(n, "%s %s%s", k.Name, err, k.got(n))
		return
	}
	if name, _ := value.(string); k.file && name != "" && !filepath.IsAbs(name) {
		value = filepath.Join(filepath.Dir(s.File), name)
	}
	s.set[k.Name] = setting{value: value, origin: fmt.Sprintf("%s:%d", s.File, nameNode.Line)}
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

// secrets replaces every _file key by the secret that stands in the file.
func (s *source) secrets() {
	for _, k := range s.keys {
		file, given := s.set[k.Name]
		if k.field != nil || !given {
			continue
		}
		delete(s.set, k.Name)
		path, secret := file.value.(string), strings.TrimSuffix(k.Name, FileSuffix)
		if path == "" {
			continue
		}
		if other, twice := s.set[secret]; twice && other.value != "" {
			s.fail("%s: %s is set as well (%s); keep one", file.origin, secret, other.origin)
		} else if text, err := os.ReadFile(path); err != nil {
			s.fail("%s: %s: %w", file.origin, k.Name, err)
		} else {
			s.set[secret] = setting{strings.TrimRight(string(text), "\r\n"), path + ", named by " + file.origin}
		}
	}
}

// Nearest returns the element of names that was probably meant by name; "" if none is similar.
func Nearest(name string, names []string) string {
	most := max(2, len(name)/4)
	best, bestDistance := "", most+1
	for _, candidate := range names {
		d := levenshtein.ComputeDistance(name, candidate)
		if hasPart(candidate, name[strings.LastIndex(name, ".")+1:]) {
			d = min(d, most)
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// hasPart says whether a part of the name behind its first dot is this one, or its plural: the user left out
// sections, as in "brokers" for "kafka.brokers" and "topic" for "kafka.topics.input".
func hasPart(name, part string) bool {
	parts := strings.Split(name, ".")
	return slices.Contains(parts[1:], part) || slices.Contains(parts[1:], part+"s")
}

// AddFlags adds a flag for each key, except for secrets: every user of a machine can read the command lines
// of all processes. The _file key of a secret has a flag. If sections are named, the flags of other sections
// are hidden, which means that they work, and help does not list them. A key outside of all sections is a
// section by itself.
func (s *Schema) AddFlags(flags *pflag.FlagSet, sections ...string) {
	for _, k := range s.keys {
		section, _, _ := strings.Cut(k.Name, ".")
		if k.Secret {
			continue
		}
		f := flags.VarPF(&flagValue{key: k, value: k.Default}, k.Name, "", k.Help)
		if k.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		f.Hidden = k.Hidden || len(sections) > 0 && !slices.Contains(sections, section)
	}
}

// HasFlag tells whether AddFlags has added the flag.
func HasFlag(f *pflag.Flag) bool {
	_, ok := f.Value.(*flagValue)
	return ok
}

// flagValue implements pflag.Value for a key. When the flag of a list is repeated, its values are added to the list.
type flagValue struct {
	key   Key
	value any
	set   bool
}

func (v *flagValue) String() string {
	if v.key.Default == nil { // pflag calls String on a zero value, to learn whether a default is worth printing
		return ""
	}
	return v.key.format(v.value)
}

func (v *flagValue) Type() string { return v.key.Type() }

func (v *flagValue) Set(text string) error {
	if v.set && v.key.Type() == "list" {
		text = v.String() + "," + text
	}
	value, err := v.key.parse(text)
	if err != nil {
		return err
	}
	v.value, v.set = value, true
	return nil
}

// flags reads the flags that were given. Flags that AddFlags has not added are ignored.
func (s *source) flags() {
	if s.Flags == nil {
		return
	}
	s.Flags.Visit(func(f *pflag.Flag) { // calls for each flag that was given
		if v, ok := f.Value.(*flagValue); ok {
			s.set[v.key.Name] = setting{v.value, "--" + f.Name}
		}
	})
}
