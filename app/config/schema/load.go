package schema

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
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
	merged := layer{}
	for _, read := range []func() (layer, error){
		func() (layer, error) { return s.readFile(from.File) },
		func() (layer, error) { return s.readEnv(from.Environ, from.Ignored) },
		func() (layer, error) { return s.readFlags(from.Flags), nil },
	} {
		l, err := read()
		if err == nil {
			err = s.readSecrets(l)
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(merged, l)
	}
	origins := Origins{}
	for _, k := range s.keys {
		set, given := merged[k.Name]
		if k.secret != "" {
			continue
		}
		if !given {
			set = setting{k.Default, "default"}
		}
		reflect.ValueOf(into).Elem().FieldByIndex(k.field).Set(reflect.ValueOf(set.value))
		origins[k.Name] = set.origin
	}
	return origins, nil
}

// readEnv reads the variables that begin with the prefix of the schema, except the variables in ignored (see Sources).
func (s *Schema) readEnv(environ, ignored []string) (layer, error) {
	out := layer{}
	var errs []error
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, s.prefix) || slices.ContainsFunc(ignored, func(i string) bool {
			return name == i || strings.HasSuffix(i, "_") && strings.HasPrefix(name, i)
		}) {
			continue
		}
		i, ok := s.byEnv[name]
		if !ok && strings.HasSuffix(name, "_PORT") && strings.Contains(text, "://") {
			errs = append(errs, fmt.Errorf("environment: Kubernetes has set %s and more for a Service of that name: set "+
				"enableServiceLinks: false in the specification of the pod", name))
		} else if !ok {
			errs = append(errs, fmt.Errorf("environment: unknown variable %s%s", name, didYouMean(name, s.envNames())))
		} else if value, err := s.keys[i].parse(text); err != nil {
			errs = append(errs, fmt.Errorf("environment: %s %w", name, err))
		} else {
			out[s.keys[i].Name] = setting{value: value, origin: name}
		}
	}
	return out, errors.Join(errs...)
}

func (s *Schema) envNames() []string {
	names := make([]string, len(s.keys))
	for i, k := range s.keys {
		names[i] = s.Env(k)
	}
	return names
}

// readSecrets replaces every _file key of a layer by the secret that stands in the file.
func (s *Schema) readSecrets(l layer) error {
	var errs []error
	for _, k := range s.keys {
		file, given := l[k.Name]
		if k.secret == "" || !given {
			continue
		}
		delete(l, k.Name)
		path := file.value.(string)
		if path == "" {
			continue
		}
		if other, twice := l[k.secret]; twice && !reflect.ValueOf(other.value).IsZero() {
			errs = append(errs, fmt.Errorf("%s: %s is set as well (%s); keep one", file.origin, k.secret, other.origin))
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", file.origin, k.Name, err))
			continue
		}
		secret, _ := s.key(k.secret)
		value, err := secret.parse(strings.TrimRight(string(text), "\r\n"))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s %w", file.origin, k.secret, err))
			continue
		}
		l[k.secret] = setting{value: value, origin: path + ", named by " + file.origin}
	}
	return errors.Join(errs...)
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

// didYouMean returns the end of a message about an unknown name.
func didYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
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

// HasFlag tells whether the flag is one of the schema's.
func (s *Schema) HasFlag(f *pflag.Flag) bool {
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
	if v.key.typ == nil { // pflag calls String on a zero value, to learn whether a default is worth printing
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

// readFlags returns the flags that were given; flags may be nil. Flags that AddFlags has not added are ignored.
func (s *Schema) readFlags(flags *pflag.FlagSet) layer {
	out := layer{}
	if flags == nil {
		return out
	}
	flags.Visit(func(f *pflag.Flag) { // calls for each flag that was given
		if v, ok := f.Value.(*flagValue); ok {
			out[v.key.Name] = setting{value: v.value, origin: "--" + f.Name}
		}
	})
	return out
}
