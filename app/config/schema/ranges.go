package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// interval is a part of the range of a number, bounds included.
type interval struct{ least, most float64 }

// intervals parses the tag range of a field, such as "-1,16KiB..1GiB": single values and intervals, separated
// by commas.
func (k Key) intervals() ([]interval, error) {
	var all []interval
	for part := range strings.SplitSeq(k.Range, ",") {
		from, to, isInterval := strings.Cut(part, "..")
		if !isInterval {
			to = from
		}
		least, err := k.bound(from)
		if err != nil {
			return nil, err
		}
		most, err := k.bound(to)
		if err != nil {
			return nil, err
		}
		if most < least {
			return nil, fmt.Errorf("%s is empty", part)
		}
		all = append(all, interval{least, most})
	}
	return all, nil
}

// bound parses one bound as a value of the key.
func (k Key) bound(text string) (float64, error) {
	value, err := k.parse(text)
	if err != nil {
		return 0, err
	}
	return number(reflect.ValueOf(value)), nil
}

// IsNumber says whether the key has a numeric value, a duration and a size included. Each has a range.
func (k Key) IsNumber() bool { return isInteger(k.typ.Kind()) || k.Type() == "float" }

func number(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

// allowed says whether the value lies in the range of the key.
func (k Key) allowed(value any) bool {
	if k.Range == "" {
		return true
	}
	intervals, _ := k.intervals() // add has checked the tag
	n := number(reflect.ValueOf(value))
	for _, s := range intervals {
		if s.least <= n && n <= s.most {
			return true
		}
	}
	return false
}

// rangeText is the range for people.
func (k Key) rangeText() string {
	return strings.ReplaceAll(strings.ReplaceAll(k.Range, ",", " or "), "..", " to ")
}

// wanted is the range in a sentence.
func (k Key) wanted() string {
	parts := strings.Split(k.Range, ",")
	for i, part := range parts {
		if from, to, isInterval := strings.Cut(part, ".."); isInterval {
			parts[i] = "between " + from + " and " + to
		}
	}
	return strings.Join(parts, " or ")
}

// OutOfRange returns the mistakes of numbers of cfg that lie outside their range, joined.
func (s *Schema) OutOfRange(cfg any) error {
	var errs []error
	for _, k := range s.valuesOf(cfg) {
		if !k.allowed(k.Default) {
			errs = append(errs, fmt.Errorf("%s is %s, must be %s", k.Name, k.format(k.Default), k.wanted()))
		}
	}
	return errors.Join(errs...)
}
