package schema

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

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
