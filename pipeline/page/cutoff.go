package page

import (
	"strings"

	"echosieve/pipeline/limits"
)

// withoutRest returns a clean text without the note at its end that says how much an interface has cut off,
// such as "[+2314 chars]" or "... (12 more lines)": a number in brackets, behind an ellipsis or a plus.
func withoutRest(clean string) string {
	text := strings.TrimRight(clean, " \n")
	if text == "" || strings.IndexByte("])", text[len(text)-1]) < 0 {
		return clean
	}
	start := strings.LastIndexAny(text, "[(")
	if start < 0 || len(text)-start > limits.ShortLine || !strings.ContainsAny(text[start:], "0123456789") {
		return clean
	}
	before := strings.TrimRight(text[:start], " \n")
	if text[start+1] != '+' && !strings.HasSuffix(before, "..") {
		return clean
	}
	return before
}
