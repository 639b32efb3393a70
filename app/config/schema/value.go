package schema

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"
	"github.com/xhit/go-str2duration/v2"
)

// Type returns the name of the type of the value, for help texts: string, bool, int, float, duration, size or list.
func (k Key) Type() string {
	switch k.Default.(type) {
	case bool:
		return "bool"
	case float64:
		return "float"
	case time.Duration:
		return "duration"
	case []string:
		return "list"
	case int:
		if strings.HasSuffix(k.Name, "_bytes") {
			return "size"
		}
		return "int"
	default:
		return "string"
	}
}

// parse reads the text of a value from a file, a variable or a flag. The result has the type of the field.
func (k Key) parse(text string) (any, error) {
	switch k.Type() {
	case "size":
		n, err := units.RAMInBytes(text)
		if err != nil || n < 0 || n == math.MaxInt64 { // RAMInBytes returns one of these for a size beyond 64 bits
			return nil, errors.New(`wants a size such as 1048576 or "64MiB"`)
		}
		text = strconv.FormatInt(n, 10)
		fallthrough
	case "int":
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("wants a whole number of at most %d bits", strconv.IntSize)
		}
		return n, nil
	case "duration":
		return ParseDuration(text)
	case "bool":
		if text != "true" && text != "false" {
			return nil, errors.New("wants true or false")
		}
		return text == "true", nil
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("wants a number")
		}
		return f, nil
	case "list":
		return splitList(text), nil
	default:
		return text, nil
	}
}

// splitList reads "a, b" as [a b] and "" as [].
func splitList(text string) []string {
	if strings.TrimSpace(text) == "" {
		return []string{}
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// format is the inverse of parse.
func (k Key) format(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return formatDuration(v)
	case []string:
		return strings.Join(v, ",")
	case int:
		text := units.BytesSize(float64(v))
		// BytesSize rounds to four digits. Where that changes the size, it is written in bytes.
		if back, err := units.RAMInBytes(text); k.Type() == "size" && err == nil && back == int64(v) && v >= units.KiB {
			return text
		}
	}
	return fmt.Sprint(value)
}

// formatDuration leaves out the zero minutes and seconds that Duration.String appends: 168h, not 168h0m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ParseDuration reads a duration as time.ParseDuration does, and days and weeks: "7d", "1w12h". A day has 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	d, err := str2duration.ParseDuration(text)
	if err != nil {
		return 0, errors.New("wants a duration such as 7d, 168h, 30s or 250ms")
	}
	return d, nil
}

// duration is the pflag.Value of a flag that is no setting.
type duration struct{ value *time.Duration }

// DurationFlag adds a flag that takes the durations that settings take, from 0 on.
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
	if *d.value, err = ParseDuration(text); err == nil && *d.value < 0 {
		err = errors.New("must not be negative")
	}
	return err
}

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
