package pipeline

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean brings a text into the form in which copies of it agree: markup out (see stripMarkup), Unicode form NFKC
// (full width to ASCII among others), lower case, invisible characters out, Traditional to Simplified Chinese
// character by character, runs of white space one space or, if they held a line end, one line end.
//
// The result is valid UTF-8 without NUL and other control characters; what was not valid becomes U+FFFD. Time and
// memory are linear in the length of the text. Safe for concurrent use.
func Clean(text string) string {
	return string(appendClean(make([]byte, 0, len(text)), text))
}

func appendClean(dst []byte, text string) []byte {
	start := len(dst)
	dst, canonical := fold(dst, stripMarkup(text))
	// NFKC can bring forth what folding removes (U+2103 becomes "°C"), hence the second round; it is rare, as
	// fold maps the usual compatibility characters itself.
	if !canonical && !norm.NFKC.IsNormal(dst[start:]) {
		dst, _ = fold(dst[:start], string(norm.NFKC.Bytes(dst[start:])))
	}
	return dst
}

// fold appends s to dst in lower case, simplified, with white space collapsed and trimmed, without invisible
// characters. canonical says that the result is certainly in form NFKC; otherwise it may be or not.
func fold(dst []byte, s string) (out []byte, canonical bool) {
	canonical = true
	start := len(dst)
	space := byte(0) // the white space owed before the next character
	for i := 0; i < len(s); {
		c := rune(s[i])
		if c < utf8.RuneSelf {
			i++
			c = rune(asciiFold[c])
		} else {
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size
			switch {
			case r >= firstHan && r <= lastHan:
				c = simplified[r-firstHan]
			case r >= 0xff01 && r <= 0xff5e: // full width ASCII
				c = rune(asciiFold[r-0xfee0])
			case r >= 0x3001 && r <= 0x3011 || r >= 0x2018 && r <= 0x201d: // punctuation in form NFKC
				c = r
			case r == 0x2026: // the ellipsis, by far the most frequent character that NFKC spells out
				if space != 0 && len(dst) > start {
					dst = append(dst, space)
				}
				space = 0
				dst = append(dst, "..."...)
				continue
			default:
				c = foldRare(r)
				canonical = canonical && isCanonical(c)
			}
		}
		switch c {
		case 0:
		case '\n':
			space = '\n'
		case ' ':
			if space == 0 {
				space = ' '
			}
		default:
			if space != 0 && len(dst) > start {
				dst = append(dst, space)
			}
			space = 0
			if c < utf8.RuneSelf {
				dst = append(dst, byte(c))
			} else {
				dst = utf8.AppendRune(dst, c)
			}
		}
	}
	return dst, canonical
}

// foldRare folds one character that is neither ASCII nor common in Chinese text. 0 means that it goes.
func foldRare(r rune) rune {
	switch {
	case r == 0x85 || r == 0x2028 || r == 0x2029: // line ends
		return '\n'
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return 0
	}
	if s, ok := simplifiedRare[r]; ok {
		return s
	}
	return unicode.ToLower(r)
}

// isCanonical tells whether a character is in form NFKC whatever stands around it.
func isCanonical(r rune) bool {
	if r < utf8.RuneSelf {
		return true
	}
	var buf [utf8.UTFMax]byte
	p := norm.NFKC.Properties(utf8.AppendRune(buf[:0], r))
	return p.Decomposition() == nil && p.BoundaryBefore()
}
