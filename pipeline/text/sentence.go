package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/limits"
)

// CutSentence returns the length of the first sentence of a clean text: up to and including its end mark and
// the quotation marks and brackets that close with it, or up to the line end, without it. The length is 0 if
// the text begins with a line end.
//
// A full stop ends a sentence only before white space: "3.5" and "example.com" stay whole. "mr. smith" is cut
// in two, everywhere alike.
func CutSentence(clean string) int {
	passed := 0 // end of the last run of marks in which a full stop ended nothing: no other full stop of the run does
	for i := 0; i < len(clean); {
		switch c := clean[i]; {
		case c == '\n':
			return i
		case c == '.' && i >= passed:
			end := skipClosing(clean, i+1)
			if end == len(clean) || clean[end] == ' ' || clean[end] == '\n' {
				return end
			}
			passed = end
			i++
		case c == '!' || c == '?':
			return skipClosing(clean, i+1)
		// no script with end marks of its own: ASCII, Latin, Greek, Cyrillic, Han, Hangul
		case c < 0xd8 || c >= 0xe4 && c <= 0xed:
			i++
		default:
			r, size := utf8.DecodeRuneInString(clean[i:])
			i += size
			if unicode.Is(unicode.STerm, r) {
				return skipClosing(clean, i)
			}
		}
	}
	return len(clean)
}

// WithoutCutWord returns a clean text without its last word if it seems to be a teaser that is cut within the word: it is
// longer than a headline, shorter than an article, and ends with a word in ASCII letters and no sentence.
func WithoutCutWord(clean string) string {
	text := strings.TrimSuffix(strings.TrimSpace(clean), "...")
	if len(text) < limits.LongLine || len(text) > limits.BodyColumns/2 {
		return clean
	}
	start := strings.LastIndexAny(text, " \n") + 1
	if strings.ContainsFunc(text[start:], func(r rune) bool { return r < 'a' || r > 'z' }) {
		return clean
	}
	return text[:start]
}

// skipClosing returns the index after the end marks, quotation marks and brackets that stand at i.
func skipClosing(clean string, i int) int {
	for i < len(clean) {
		r, size := utf8.DecodeRuneInString(clean[i:])
		if !strings.ContainsRune(`.!?"'。`, r) && !unicode.In(r, unicode.Pe, unicode.Pf) {
			break
		}
		i += size
	}
	return i
}

// Sentences iterates over the sentences of a clean text. start and end say where a sentence stands in the text.
func Sentences(clean string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(clean); {
			if clean[i] == ' ' || clean[i] == '\n' {
				i++
				continue
			}
			n := CutSentence(clean[i:])
			if !yield(i, i+n) {
				return
			}
			i += n
		}
	}
}
