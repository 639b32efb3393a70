package decode

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/itlightning/dateparse"
	"github.com/tidwall/gjson"

	"echosieve/pipeline/article"
)

// maxTimeBytes is the length of the longest text that is read as a time.
const maxTimeBytes = 80

// parseTime reads a time of publication: a text in a usual form; a number of seconds, milliseconds, microseconds or
// nanoseconds since 1970; either of them in an object $date or $numberLong, as MongoDB exports it; or a list
// [year, month, day, hour, minute, second, ...] in UTC, as feedparser makes it.
//
// A text without a zone is in UTC. A zone that is unknown or that several countries use, such as IST, makes the time
// unreadable: taken as UTC it would be hours wrong, and another publisher would be the first. So does a date that may
// be another one, or one of another calendar. Dates that stand for "no date" (noDates) are no times.
//
// unread is a value that cannot be read, as a text of at most maxTimeBytes, to count it and to show it. It is empty if
// the value is absent, empty or a date that stands for "no date".
func parseTime(v gjson.Result) (at time.Time, unread string) {
	at, ok := timeOf(v)
	at = at.UTC()
	switch {
	case ok && (at.Year() <= 1 || at.Year() > 9998 || noDates[at.Format(time.DateOnly)]):
		return time.Time{}, ""
	case ok && at.Year() >= firstYear && at.Year() <= lastYear:
		return at, ""
	case strings.TrimSpace(v.String()) == "":
		return time.Time{}, ""
	}
	return time.Time{}, article.Cut(strings.ToValidUTF8(v.String(), "�"), maxTimeBytes)
}

var runs = regexp.MustCompile(`\p{L}+|\p{Nd}+`)

// TimeForm is the form of an unread text of TimeFields.Find or article.Content: a run of digits is 0 and a run of
// letters a.
func TimeForm(unread string) string {
	return runs.ReplaceAllStringFunc(unread, func(run string) string {
		if first, _ := utf8.DecodeRuneInString(run); unicode.IsDigit(first) {
			return "0"
		}
		return "a"
	})
}

// noDates are days that programs write for "no date": the zero times of Excel and OLE, of Windows and SQL Server, and
// of Unix, which is a day earlier in America.
var noDates = map[string]bool{"1899-12-30": true, "1900-01-01": true, "1601-01-01": true, "1753-01-01": true,
	"1969-12-31": true, "1970-01-01": true}

// firstYear and lastYear are those of times that are read: before the first newspaper, and long after today, a year is
// of another calendar, as in Iran, Saudi Arabia and Thailand.
const firstYear, lastYear = 1600, 2200

func timeOf(v gjson.Result) (time.Time, bool) {
	if v.IsObject() {
		if date := v.Get("$date"); date.Exists() {
			v = date
		}
		if long := v.Get("$numberLong"); v.IsObject() && long.Exists() {
			v = long
		}
	}
	if v.IsArray() {
		return timeOfList(v.Array())
	}
	text := strings.TrimSpace(v.Str)
	if v.Type == gjson.Number {
		text = v.Raw
	}
	if text == "" || len(text) > maxTimeBytes {
		return time.Time{}, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && (strings.Contains(text, ".") ||
		len(text) != len("20060102") && len(text) != len("20060102150405")) {
		return timeOfNumber(n)
	}
	return timeOfText(text)
}

// timeOfNumber reads a time since 1970. A number that is none from 1991 on counts otherwise, such as a year, digits of
// a date, and the clocks of Windows.
func timeOfNumber(n float64) (time.Time, bool) {
	if !(n < 1e19) {
		return time.Time{}, false
	}
	for n >= 1e10 { // the year 2286 in seconds
		n /= 1000
	}
	return time.UnixMilli(int64(n * 1000)), n >= 663e6
}

// timeOfList reads Python's time.struct_time.
func timeOfList(list []gjson.Result) (time.Time, bool) {
	if len(list) < 6 {
		return time.Time{}, false
	}
	var n [6]int
	for i := range n {
		n[i] = int(list[i].Int())
	}
	at := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC)
	return at, n == [6]int{at.Year(), int(at.Month()), at.Day(), at.Hour(), at.Minute(), at.Second()}
}

var (
	// eastAsian replaces the words for the parts of a date in Chinese, Japanese and Korean.
	eastAsian = strings.NewReplacer("年", "-", "月", "-", "日", " ", "时", ":", "時", ":", "点", ":",
		"點", ":", "分", ":", "秒", "", "년 ", "-", "년", "-", "월 ", "-", "월", "-", "일", " ",
		"시 ", ":", "시", ":", "분 ", ":", "분", ":", "초", "")
	// noons are the words for the half of the day, which stand before the hour in these languages.
	noons = map[string]string{
		"上午": " AM", "午前": " AM", "오전 ": " AM", "下午": " PM", "午後": " PM", "오후 ": " PM",
	}
	// weekday finds the day of the week in these languages.
	weekday = regexp.MustCompile(`\s*(?:[(（](?:[日月火水木金土월화수목금토일]|` +
		`(?:星期|周)[一二三四五六日天])[)）]|(?:星期|周)[一二三四五六日天]|` +
		`[월화수목금토일]요일|[日月火水木金土]曜日)\s*`)
	// remark is the zone in words behind an offset: (China Standard Time), [Europe/Paris]. It says nothing that is read.
	remark = regexp.MustCompile(`\s*(\([^)]*\)|\[[^\]]*\])$`)
	// zoned finds what stands behind the time of day: an offset, the name of a zone, or both; and a year, as date(1)
	// writes it.
	zoned = regexp.MustCompile(`(?i)^(.*?(?::\d\d(?:[.,]\d+)?(?:\s*[ap]\.?m\.?)?|\dT\d{4,6}(?:\.\d+)?))\s*` +
		`((?:UTC|GMT|UT)?\s?[+-]\d{1,2}(?::?\d\d)?)?\s*([a-z]{1,5})?(\s+\d{4})?$`)
	offset = regexp.MustCompile(`([+-])(\d{1,2}?):?(\d\d)?$`)
	// rfc822 is the form in which CST is American: programs in China write CST, too, and mean their own.
	rfc822 = regexp.MustCompile(`^(?:\pL+, ?)?\d{1,2} \pL+ \d`)
	dotted = regexp.MustCompile(`^\d{1,2}\.\s?\d{1,2}\.`)
	// unclear finds numbers of which nobody knows which is the day or the year: 03-04-2026, 26/11/20, 20.11.26.
	unclear = regexp.MustCompile(`^(?:(?:0?\d|1[0-2])-(?:0?\d|1[0-2])-\d{4}|\d{1,2}[./-]\s?(?:0?\d|1[0-2])[./-]\s?\d\d)` +
		`(?:\D|$)`)
)

// zones are names of zones with one meaning, in minutes east of Greenwich. RFC 822 (section 5) gives UT, GMT and the
// American ones theirs.
var zones = map[string]int{
	"Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "WET": 0,
	"EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600, "BRT": -180,
	"WEST": 60, "CET": 60, "MET": 60, "MEZ": 60, "CEST": 120, "MEST": 120, "MESZ": 120, "EET": 120, "EEST": 180,
	"MSK": 180, "TRT": 180, "EAT": 180, "SAST": 120, "PKT": 300, "NPT": 345,
	"WIB": 420, "WITA": 480, "WIT": 540, "ICT": 420, "HKT": 480, "SGT": 480, "AWST": 480, "JST": 540, "KST": 540,
	"ACST": 570, "AEST": 600, "ACDT": 630, "AEDT": 660, "NZST": 720, "NZDT": 780,
}

// timeOfText takes the zone off the text, reads the rest in UTC and moves it by the zone.
func timeOfText(text string) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil { // most are
		_, east := at.Zone()
		return at, inZone(east / 60)
	}
	half := ""
	for word, english := range noons {
		if before, after, found := strings.Cut(text, word); found {
			text, half = before+" "+after, english
		}
	}
	text = strings.TrimSpace(eastAsian.Replace(weekday.ReplaceAllString(text, " ")))
	said := remark.FindString(text)
	text = strings.TrimSuffix(text, said)
	if strings.HasSuffix(text, ":") && strings.Count(text, ":") == 1 { // 13时
		text += "00"
	}
	text = strings.TrimSuffix(text, ":") + half
	minutes := 0
	if found := zoned.FindStringSubmatch(text); found != nil {
		text = found[1] + found[4]
		name := strings.ToUpper(found[3])
		var known bool
		switch minutes, known = zones[name]; {
		case found[2] != "":
			minutes = offsetMinutes(found[2])
		case name != "" && !known, name == "CST" && !rfc822.MatchString(text):
			return time.Time{}, false
		}
		if found[2] != "" || name != "" {
			said = ""
		}
	}
	at, ok := timeInUTC(strings.TrimSpace(text))
	return at.Add(-time.Duration(minutes) * time.Minute), ok && said == "" && inZone(minutes)
}

// inZone says whether a zone can be so many minutes east of Greenwich.
func inZone(minutes int) bool { return minutes >= -12*60 && minutes <= 14*60 }

// offsetMinutes reads an offset such as +08, +0530 or GMT-3:00.
func offsetMinutes(text string) int {
	part := offset.FindStringSubmatch(text)
	hours, _ := strconv.Atoi(part[2]) // two digits
	minutes, _ := strconv.Atoi(part[3])
	if minutes += 60 * hours; part[1] == "-" {
		return -minutes
	}
	return minutes
}

// timeInUTC reads a date, with or without a time of day, that has no zone. With points between its numbers the day
// stands first. With strokes it is read only if one of the first two numbers can be no month. A month is no date.
func timeInUTC(text string) (time.Time, bool) {
	if at, err := time.Parse("20060102T150405", text); err == nil {
		return at, true
	}
	if len(text) < len("1/2/2006") || unclear.MatchString(text) {
		return time.Time{}, false
	}
	if at, err := dateparse.ParseStrict(text); err == nil {
		return at, isUTC(at)
	}
	if dotted.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	}
	monthFirst, err := dateparse.ParseAny(text)
	dayFirst, errDay := dateparse.ParseAny(text, dateparse.PreferMonthFirst(false))
	switch {
	case errDay == nil && (err != nil || dotted.MatchString(text)):
		return dayFirst, isUTC(dayFirst)
	case err == nil && errDay != nil:
		return monthFirst, isUTC(monthFirst)
	}
	return time.Time{}, false
}

// isUTC says whether dateparse has found a year, and no zone.
func isUTC(at time.Time) bool {
	_, east := at.Zone()
	return at.Year() > 0 && east == 0 && (at.Location() == time.UTC || at.Location().String() == "")
}

// TimeFields are the names of members that hold the time of an article, the best first.
type TimeFields []string

// DefaultTimes are the names that crawlers and feeds use.
var DefaultTimes = TimeFields(slices.Concat([]string{"ts", "time", "timestamp"}, DefaultConfig().Fields.Published,
	[]string{"created_at", "fetched_at"}))

// Find returns the time of an article, a JSON object; without one the first text that cannot be read as a time. Of
// another value it may be any time.
func (names TimeFields) Find(value []byte) (at time.Time, unread string) {
	best := len(names)
	gjson.ParseBytes(value).ForEach(func(name, v gjson.Result) bool {
		if i := slices.Index(names, name.Str); i >= 0 && i <= best { // of two members with one name the last one
			found, why := parseTime(v)
			if !found.IsZero() {
				at, best = found, i
			}
			unread = cmp.Or(unread, why)
		}
		return true
	})
	if best < len(names) {
		unread = ""
	}
	return at, unread
}
