package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// IsNumber says whether the key has a numeric value, a duration and a size included. Each has a range.
func (k Key) IsNumber() bool { return isInteger(k.typ.Kind()) || k.Type() == "float" }

func number(value any) float64 {
	return reflect.ValueOf(value).Convert(reflect.TypeFor[float64]()).Float()
}

// allowed says whether the value lies in the range of the key, bounds included.
func (k Key) allowed(value any) bool {
	from, to, _ := strings.Cut(k.Range, "..")
	least, notFrom := k.parse(from)
	most, notTo := k.parse(to)
	return k.Range == "" || notFrom == nil && notTo == nil &&
		number(least) <= number(value) && number(value) <= number(most)
}

// rangeText is the range for people.
func (k Key) rangeText() string { return strings.ReplaceAll(k.Range, "..", " to ") }

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
