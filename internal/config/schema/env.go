package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

// readEnv reads the variables that start with the schema's prefix. Names in ignored (and all names that start
// with one of them, if it ends in "_") belong to somebody else.
func (s *Schema) readEnv(environ, ignored []string) (layer, error) {
	out := layer{}
	var errs []error
	take := func(name, text string) (string, any) {
		if slices.ContainsFunc(ignored, func(i string) bool {
			return name == i || strings.HasSuffix(i, "_") && strings.HasPrefix(name, i)
		}) {
			return "", nil
		}
		i, ok := s.byEnv[name]
		if !ok {
			errs = append(errs, fmt.Errorf("environment: unknown variable %s%s", name, didYouMean(name, s.envNames())))
			return "", nil
		}
		k := s.keys[i]
		value, err := k.parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("environment: %s %w", name, err))
			return "", nil
		}
		out[k.Name] = setting{value: value, origin: name}
		return k.Name, value
	}
	sorted := slices.Sorted(slices.Values(environ))
	// The provider selects and splits the variables; out collects them with their origin on the way.
	_, err := env.Provider(".", env.Opt{
		Prefix:        s.prefix,
		TransformFunc: take,
		EnvironFunc:   func() []string { return sorted },
	}).Read()
	return out, errors.Join(append(errs, err)...)
}

func (s *Schema) envNames() []string {
	names := make([]string, len(s.keys))
	for i, k := range s.keys {
		names[i] = s.Env(k)
	}
	return names
}
