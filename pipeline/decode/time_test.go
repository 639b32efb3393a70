package decode

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// TestTimes reads one instant in the forms that feeds, crawlers and programs write.
func TestTimes(t *testing.T) {
	want := time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)
	for _, form := range []string{
		`"2026-11-20T13:00:00Z"`, `"2026-11-20T13:00Z"`, `"2026-11-20T13:00:00.000Z"`, `"2026-11-20T13:00:00"`,
		`"2026-11-20T14:00:00+0100"`, `"2026-11-20T14:00:00+01"`, `"2026-11-20T18:30:00+05:30"`, `"2026-11-20T08:00-05:00"`,
		`"2026-11-20 13:00:00 UTC"`, `"2026-11-20 13:00:00 +0000 UTC"`, `"2026-11-20 14:00:00.5 +0100 CET"`,
		`"2026-11-20T14:00+01:00[Europe/Paris]"`, `"20261120T130000Z"`, `"20261120T130000"`, `"20261120130000"`,
		`"2026/11/20 13:00"`, `"20.11.2026 13:00"`, `"20.11.2026, 13:00:00"`, `"20/11/2026 13:00"`, `"11/20/2026 1:00 PM"`,
		`"Fri, 20 Nov 2026 13:00:00 GMT"`, `"Fri, 20 Nov 2026 13:00 GMT"`, `"20 Nov 2026 13:00:00 GMT"`,
		`"Fri, 20 Nov 2026 13:00:00 UT"`, `"Fri, 20 Nov 2026 13:00:00 Z"`, `"20 Nov 2026 13:00 +0000"`,
		`"Fri, 20 Nov 2026 08:00:00 EST"`, `"Fri, 20 Nov 2026 05:00:00 PST"`, `"Fri, 20 Nov 2026 07:00:00 CST"`,
		`"Fri, 20 Nov 2026 14:00:00 CET"`, `"Fri, 20 Nov 2026 15:00:00 MEST"`, `"Fri, 20 Nov 2026 22:00:00 JST"`,
		`"Fri, 20 Nov 2026 22:00:00 KST"`, `"Fri, 20 Nov 2026 16:00:00 MSK"`, `"2026-11-20 8:00:00 EST"`,
		`"Nov 20, 2026 1:00 PM"`, `"Nov 20, 2026 8:00 AM EST"`, `"November 20, 2026 13:00"`, `"20 November 2026 13:00"`,
		`"Fri Nov 20 13:00:00 2026"`, `"Fri Nov 20 08:00:00 EST 2026"`, `"Fri Nov 20 13:00:00 UTC 2026"`,
		`"Fri Nov 20 2026 21:00:00 GMT+0800 (China Standard Time)"`, `"2026-11-20 21:00 UTC+8"`,
		`"2026年11月20日 13时00分"`, `"2026年11月20日 13:00"`, `"2026年11月20日13时00分00秒"`,
		`"2026年11月20日 13时"`,
		`"2026年11月20日下午1时00分"`, `"2026년 11월 20일 13시 00분"`, `"2026년 11월 20일 오후 1:00"`,
		`"2026年11月20日 13時00分"`,
		`"2026年11月20日（金）13時00分"`, `"2026-11-20 星期五 13:00"`, `"2026년 11월 20일 금요일 13:00"`,
		`20261120130000`, `1795179600`, `1795179600000`, `1795179600000000000`, `"1795179600.5"`,
		`1795179600.123`, `"1795179600.123"`,
		`{"$date": "2026-11-20T13:00:00Z"}`,
		`{"$date": {"$numberLong": "1795179600000"}}`, `{"$numberLong": "1795179600000"}`,
		`[2026, 11, 20, 13, 0, 0, 4, 324, 0]`,
	} {
		got, unread := parseTime(gjson.Parse(form))
		require.Equal(t, want, got.Truncate(time.Second), form)
		require.Empty(t, unread)
	}
}

// A time that may be hours or months wrong is not read.
func TestTimesThatAreNotRead(t *testing.T) {
	for _, form := range []string{
		`"Fri, 20 Nov 2026 13:00:00 IST"`, `"Fri, 20 Nov 2026 13:00:00 XYZ"`, `"2026-11-20 13:00 BST"`,
		`"Fri Nov 20 13:00:00 CST 2026"`, `"03/04/2026 13:00"`, `"2 hours ago"`, `"13:00"`, `2026`, `"2026-13-40"`,
		`[2026, 13, 40, 13, 0, 0]`, `true`,
		// A zone in brackets without an offset, an offset that no zone has, and CST where it may be China's.
		`"2026-11-20T14:00[Europe/Paris]"`, `"2026-11-20 21:00 (China Standard Time)"`, `"20.11.2026 16:00 (МСК)"`,
		`"2026-11-20T13:00:00+25:00"`, `"2026-11-20 13:00 +9999"`, `"2026-11-20T13:00:00Z+08:00"`,
		`"2026-11-20 21:00:00 CST"`, `"Fri Nov 20 2026 21:00:00 CST"`,
		// Numbers of which nobody knows which is the day or the year, no day, and other calendars.
		`"26/11/20 13:00"`, `"20.11.26"`, `"03-04-2026 13:00"`, `"2026-11"`, `"Nov 20"`,
		`"1405/08/29 16:30"`, `"2569-11-20"`,
		// Digits of a date, 100 nanoseconds since 1 or 1601, and microseconds since 1601.
		`202611201300`, `20261120130000123`, `"20261120130000.0"`, `638992800000000000`, `134396532000000000`,
		`13439653200000000`, `253402300799`, `[2026, 11, 20, 13, 75, 0]`,
	} {
		at, unread := parseTime(gjson.Parse(form))
		require.Zero(t, at, form)
		require.NotEmpty(t, unread, form)
	}
}

func TestTimeForm(t *testing.T) {
	require.Equal(t, "a, 0 a 0 0:0:0 a", TimeForm("Fri, 20 Nov 2026 13:00:00 IST"))
}

// Dates that mean "no date", and values that are none, are neither read nor counted as unread.
func TestNoTimes(t *testing.T) {
	for _, form := range []string{
		`"0001-01-01T00:00:00Z"`, `"1899-12-30"`, `"1900-01-01T00:00:00"`, `"1970-01-01T00:00:00Z"`,
		`"9999-12-31T23:59:59Z"`, `"1969-12-31T16:00:00"`, `"1601-01-01T00:00:00Z"`, `""`, `null`, `"  "`,
	} {
		at, unread := parseTime(gjson.Parse(form))
		require.Zero(t, at, form)
		require.Empty(t, unread, form)
	}
	_, absent := parseTime(gjson.Get(`{}`, "published"))
	require.Empty(t, absent)
	_, long := parseTime(gjson.Parse(`"soon ` + strings.Repeat("日", maxTimeBytes) + `"`))
	require.True(t, utf8.ValidString(long) && len(long) > maxTimeBytes-utf8.UTFMax, long)
}

func FuzzParseTime(f *testing.F) {
	for _, form := range []string{
		`"20.11.2026 13:00 CET"`, `"2026年11月20日 13时"`, `"Fri Nov 20 13:00:00 CST 2026"`, `[1,2,3,4,5,6]`,
	} {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, json string) {
		if !gjson.Valid(json) {
			return
		}
		v := gjson.Parse(json)
		if at, unread := parseTime(v); !at.IsZero() {
			require.Less(t, at.Year(), 9999)
			require.Empty(t, unread)
		}
	})
}
