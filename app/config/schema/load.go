package schema

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

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
		if !strings.HasPrefix(name, s.prefix) || isIgnored(name, ignored) {
			continue
		}
		i, ok := s.byEnv[name]
		if gone := s.Removed(name); gone != "" {
			errs = append(errs, fmt.Errorf("environment: %s", gone))
		} else if !ok && strings.HasSuffix(name, "_PORT") && strings.Contains(text, "://") {
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

func isIgnored(name string, ignored []string) bool {
	return slices.ContainsFunc(ignored, func(i string) bool {
		return name == i || strings.HasSuffix(i, "_") && strings.HasPrefix(name, i)
	})
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
