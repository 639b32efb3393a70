package text

import (
	"unicode"
	"unicode/utf8"
)

// AppendNormalised appends to dst the normalised form of a clean text, whose SHA-256 is the digest. White space, punctuation and symbols
// are left out, so that two texts which differ in nothing else are exact copies. They stay where leaving them out could change a number:
// a punctuation mark or symbol next to a digit (3.5 is not 35, and -5 is not 5%), and one space between two digits.
func AppendNormalised(dst []byte, clean string) []byte {
	afterDigit, spaced := false, false // the last character was a digit; it was white space after a digit
	for i := 0; i < len(clean); {
		if n := plainWord(clean[i:]); n > 0 {
			dst = append(dst, clean[i:i+n]...)
			afterDigit, spaced = false, false
			i += n
			continue
		}
		r, size := rune(clean[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(clean[i:])
		}
		next := i + size
		switch classOf(r) {
		case classDigit:
			if spaced {
				dst = append(dst, ' ')
			}
			dst = append(dst, clean[i:next]...)
			afterDigit, spaced = true, false
		case classWord:
			dst = append(dst, clean[i:next]...)
			afterDigit, spaced = false, false
		case classSpace:
			spaced = spaced || afterDigit
			afterDigit = false
		case classMark:
			if afterDigit || startsWithDigit(clean[next:]) {
				dst = append(dst, clean[i:next]...)
			}
			afterDigit, spaced = false, false
		}
		i = next
	}
	return dst
}

// plainWord is the length of the run of letters a-z and frequent Han characters at the beginning of s. They are most of any text and need
// no decoding: the bytes E5 to E9 begin U+5000 to U+9FFF.
func plainWord(s string) int {
	i := 0
	for i < len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			i++
		case c >= 0xe5 && c <= 0xe9 && i+2 < len(s):
			i += 3
		default:
			return i
		}
	}
	return i
}

type class uint8

const (
	classMark  class = iota // punctuation, symbols, everything else
	classSpace              // white space
	classDigit              // decimal digits
	classWord               // letters, other numbers and the marks that combine with them
)

// classOf returns the class of a character of a clean text.
func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z' || r >= firstHan && r <= lastHan && r < 0x4dc0 || r >= 0x4e00 && r <= lastHan:
		return classWord
	case r >= '0' && r <= '9':
		return classDigit
	case r >= 0x2010 && r <= 0x2027 || r >= 0x3001 && r <= 0x3004 || r >= 0x3008 && r <= 0x3011: // the usual punctuation
		return classMark
	case r < utf8.RuneSelf:
		if r == ' ' || r == '\n' {
			return classSpace
		}
		return classMark
	case r == utf8.RuneError:
		return classMark
	case unicode.IsDigit(r):
		return classDigit
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
		return classWord
	case unicode.IsSpace(r):
		return classSpace
	}
	return classMark
}

func startsWithDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return classOf(r) == classDigit
}
