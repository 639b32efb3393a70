package report

import (
	"strings"
	"unicode"
)

// label makes a text of the user's fit for a chart: not too long, and visible.
func label(s string) string {
	const most = 28
	s = visible(s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "~"
	}
	return s
}

// visible makes a text one line of what can be seen and stand in XML.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.C, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
