package visible

import "strings"

// Error returns the text of an error as lines: one line each of the errors that errors.Join has joined, in which nothing is hidden. A line
// end that belongs to a quoted text becomes a space.
func Error(err error) string {
	text := err.Error()
	switch e := err.(type) { //nolint:errorlint // the chain is followed link by link
	case interface{ Unwrap() []error }:
		var texts, lines []string
		for _, part := range e.Unwrap() {
			texts, lines = append(texts, part.Error()), append(lines, Error(part))
		}
		if text == strings.Join(texts, "\n") {
			return strings.Join(lines, "\n")
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			if before, after, found := strings.Cut(text, inner.Error()); found {
				return Line(before) + Error(inner) + Line(after)
			}
		}
	}
	return Line(text)
}
