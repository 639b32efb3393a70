package schema

import "github.com/spf13/pflag"

// AddFlags adds one flag for each key. Secrets have none, because every user of a machine can read command
// lines; their _file keys do.
func (s *Schema) AddFlags(flags *pflag.FlagSet) {
	for _, k := range s.keys {
		if k.Secret {
			continue
		}
		f := flags.VarPF(&flagValue{key: k, value: k.Default}, k.Name, "", k.Help)
		if k.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// HasFlag tells whether the flag is one of the schema's.
func (s *Schema) HasFlag(f *pflag.Flag) bool {
	_, ok := f.Value.(*flagValue)
	return ok
}

// flagValue is a pflag.Value that takes what its key takes. A list grows when its flag is repeated.
type flagValue struct {
	key   Key
	value any
	set   bool
}

func (v *flagValue) String() string {
	if v.key.typ == nil { // pflag asks a zero value what it prints
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

// readFlags reads the flags that were given; flags may be nil. Flags that are not the schema's are left alone.
func (s *Schema) readFlags(flags *pflag.FlagSet) layer {
	out := layer{}
	if flags == nil {
		return out
	}
	flags.Visit(func(f *pflag.Flag) { // only flags that were given
		if v, ok := f.Value.(*flagValue); ok {
			out[v.key.Name] = setting{value: v.value, origin: "--" + f.Name}
		}
	})
	return out
}
