// Package schema makes a configuration of one struct with default values: command line flags, environment
// variables, a strict YAML file, a reference file with all defaults, and a printout.
//
// A key's name is the dotted path of the `setting` tags on the way to its field ("kafka.brokers"). The same name
// gives the flag (--kafka.brokers) and the environment variable (ECHOSIEVE_KAFKA_BROKERS). A later source wins:
//
//	default < YAML file < environment < flag
//
// The tags of a field:
//
//	setting:"name"     the last part of the key. A field without this tag is no setting
//	setting:",squash"  of a struct: its keys belong to the section of its parent
//	help:"..."         one sentence for the reference, the flags and the table of the docs. Every setting has one;
//	                   one that is too long for a line of code stands in the map of New instead
//	range:"1..8"       the least and the greatest value of a number
//	hidden:"true"      the setting works, but the reference and help leave it out: one value is good for nearly everybody
//	secret:"true"      the value is never printed and has no flag. A second key, name_file, names a file that holds it
//	file:"true"        the value names a file
//
// An integer whose name ends in "_bytes" takes units ("64MiB"). A string whose name ends in "_file" names a file, too.
// A relative name of a file in the YAML file is relative to the folder of the YAML file.
//
// An unknown key in the file is an error, and so is an unknown variable with the prefix of the environment.
// All mistakes of one source are reported together.
package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// FileSuffix is appended to the name of a secret. The key of that name names a file that holds the secret.
const FileSuffix = "_file"

// Key is one setting.
type Key struct {
	Name    string // dotted path, "kafka.topics.input"
	Env     string // the environment variable
	Help    string
	Secret  bool
	Hidden  bool   // works, but the reference and help leave it out
	Default any    // of the field's type
	Range   string // of a number, "1..8"

	field []int // where the struct has it, for reflect.Value.FieldByIndex; nil: the key names the file of a secret
	file  bool  // the value names a file
}

// Schema is the list of keys of one struct. It does not change after New, and is safe for concurrent use.
type Schema struct {
	prefix   string
	keys     []Key
	sections map[string]string // help, by name
	byName   map[string]Key
	byEnv    map[string]Key
}

// New makes the schema of a struct. The values of its fields are the defaults of the settings. Every environment
// variable begins with the prefix, "ECHOSIEVE_". A field is a string, a bool, an int, a float64, a duration or a list
// of strings, and a secret is a string. Names and variables are used once: a test of package config looks for that.
// help is that of keys without the tag.
func New(prefix string, defaults any, help map[string]string) *Schema {
	s := &Schema{prefix: prefix, sections: map[string]string{}, byName: map[string]Key{}, byEnv: map[string]Key{}}
	s.addStruct("", reflect.ValueOf(defaults), nil, help)
	return s
}

// Keys returns all keys, in the order of the struct's fields.
func (s *Schema) Keys() []Key { return slices.Clone(s.keys) }

func (s *Schema) addStruct(prefix string, v reflect.Value, path []int, long map[string]string) {
	for i := range v.NumField() {
		path := append(slices.Clone(path), i)
		field := v.Type().Field(i)
		tag, known := field.Tag.Lookup("setting")
		name, option, _ := strings.Cut(tag, ",")
		if !known || name == "-" || !field.IsExported() {
			continue
		}
		if option == "squash" {
			s.addStruct(prefix, v.Field(i), path, long)
			continue
		}
		name = prefix + name
		help := cmp.Or(field.Tag.Get("help"), long[name])
		if field.Type.Kind() == reflect.Struct {
			s.sections[name] = help
			s.addStruct(name+".", v.Field(i), path, long)
			continue
		}
		k := Key{
			Name:    name,
			Help:    help,
			Secret:  field.Tag.Get("secret") == "true",
			Hidden:  field.Tag.Get("hidden") == "true",
			Default: v.Field(i).Interface(),
			Range:   field.Tag.Get("range"),
			field:   path,
			file:    strings.HasSuffix(name, FileSuffix) || field.Tag.Get("file") == "true",
		}
		s.add(k)
		if k.Secret {
			s.add(Key{Name: name + FileSuffix, Default: "", file: true,
				Help: "File that holds " + name + ", without the line break at its end."})
		}
	}
}

func (s *Schema) add(k Key) {
	k.Env = s.prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
	s.byName[k.Name], s.byEnv[k.Env] = k, k
	s.keys = append(s.keys, k)
}

// valuesOf returns the keys with the values of cfg in place of their Default. Keys of files that hold secrets
// are left out: they have no field.
func (s *Schema) valuesOf(cfg any) (keys []Key) {
	v := reflect.Indirect(reflect.ValueOf(cfg))
	for _, k := range s.keys {
		if k.field != nil {
			k.Default = v.FieldByIndex(k.field).Interface()
			keys = append(keys, k)
		}
	}
	return keys
}

// Differences returns the names of the keys whose values differ between two configurations, in the order of
// the keys. Secrets are compared, too.
func (s *Schema) Differences(a, b any) (names []string) {
	others := s.valuesOf(b)
	for i, k := range s.valuesOf(a) {
		if !reflect.DeepEqual(k.Default, others[i].Default) {
			names = append(names, k.Name)
		}
	}
	return names
}

// OutOfRange returns the mistakes of numbers of cfg that lie outside their range, joined.
func (s *Schema) OutOfRange(cfg any) error {
	var errs []error
	for _, k := range s.valuesOf(cfg) {
		if !k.allowed(k.Default) {
			errs = append(errs, fmt.Errorf("%s is %s, must be between %s", k.Name, k.format(k.Default),
				strings.ReplaceAll(k.Range, "..", " and ")))
		}
	}
	return errors.Join(errs...)
}
