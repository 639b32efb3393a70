package page

import (
	"strings"
	"unicode/utf8"

	"echosieve/pipeline/limits"
)

// Head returns the length of the lines above an article, in bytes: headline, byline, time stamp and counters
// of readers. There are few of them, they are short and end no sentence, and the next line is prose. It is 0
// if there are none.
func Head(body string) int {
	head := 0
	for range limits.FurnitureLines + 1 {
		line, _, found := strings.Cut(body[head:], "\n")
		if len(line) >= utf8.UTFMax*limits.LongLine { // surely as wide
			return head
		}
		l := textLine{}
		l.measure(line)
		switch {
		case l.kind == proseLine:
			return head
		case !found:
			return 0
		}
		head += len(line) + 1
	}
	return 0
}
