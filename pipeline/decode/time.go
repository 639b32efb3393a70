package decode

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// timeLayouts are the forms of a time that is a text. A time without a zone is in UTC.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04", "2006/01/02", "20060102",
	"20060102150405",
	"2006年1月2日 15:04:05", "2006年1月2日 15:04", "2006年1月2日", time.RFC1123Z, time.RFC1123,
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700", time.ANSIC, time.UnixDate,
}

// ParseTime reads a time: a text in a usual form, a number of seconds, milliseconds, microseconds or nanoseconds since
// 1970, or either in an object $date, as MongoDB exports it.
func ParseTime(v gjson.Result) (time.Time, bool) {
	if v.IsObject() {
		v = v.Get("$date")
	}

	text := strings.TrimSpace(v.Str)
	if v.Type == gjson.Number {
		text = v.Raw
	}
	if text == "" { // most articles: each layout would make an error
		return time.Time{}, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && len(text) != len("20060102") &&
		len(text) != len("20060102150405") {
		if !(n >= 1e8 && n < 1e19) { // a year, or another small number, is no time
			return time.Time{}, false
		}
		for n >= 1e11 { // the year 5138 in seconds
			n /= 1000
		}
		return time.UnixMilli(int64(n * 1000)), true
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && t.Year() > 0 {
			return t, true
		}
	}
	return time.Time{}, false
}
