package schema

import (
	"errors"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// daysAndWeeks finds the parts of a duration that time.ParseDuration does not know: "2w", "1.5d".
var daysAndWeeks = regexp.MustCompile(`(\d+(?:\.\d+)?)([dw])`)

// errDuration says which durations there are.
var errDuration = errors.New("wants a duration such as 7d, 168h, 30s or 250ms")

// ParseDuration reads a duration as time.ParseDuration does, and days and weeks: "7d", "1w12h". A day has 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	hours := daysAndWeeks.ReplaceAllStringFunc(text, func(part string) string {
		n, err := strconv.ParseFloat(part[:len(part)-1], 64)
		if err != nil {
			return part
		}
		unit := day
		if part[len(part)-1] == 'w' {
			unit = week
		}
		return strconv.FormatFloat(n*unit.Hours(), 'f', -1, 64) + "h"
	})
	d, err := time.ParseDuration(hours)
	if err != nil {
		return 0, errDuration
	}
	return d, nil
}

// duration is the pflag.Value of a flag that is no setting.
type duration struct{ value *time.Duration }

// DurationFlag adds a flag that takes the durations that settings take.
func DurationFlag(flags *pflag.FlagSet, name string, value time.Duration, usage string) *time.Duration {
	p := new(time.Duration)
	DurationFlagVar(flags, p, name, value, usage)
	return p
}

// DurationFlagVar is DurationFlag for a variable that exists.
func DurationFlagVar(flags *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	flags.Var(duration{p}, name, usage)
}

func (d duration) String() string {
	if d.value == nil { // pflag calls String on a zero value, to learn whether a default is worth printing
		return time.Duration(0).String()
	}
	return d.value.String()
}

func (d duration) Type() string { return "duration" }

func (d duration) Set(text string) (err error) {
	*d.value, err = ParseDuration(text)
	return err
}
