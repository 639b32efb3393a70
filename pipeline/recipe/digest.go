package recipe

import (
	"crypto/sha256"
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// identify fills in what follows from the normalised text and the SimHash: digest, fingerprint, sums.
func (r *Recipe) identify(s *scratch, a *article.Article, sums *simhash.Sums) {
	a.LittleText = a.Features < r.config.MinFeatures
	a.Empty = len(s.normalised) == 0
	a.Fingerprint = a.SimHash
	if !a.LittleText {
		a.Sums = sums
		// Punctuation is not in the normalised text but can decide where words end. The index finds articles by
		// fingerprint, so equal digests must mean equal fingerprints.
		s.normalised = binary.BigEndian.AppendUint64(append(s.normalised, 0), uint64(a.SimHash))
	}
	sum := sha256.Sum256(s.normalised)
	a.Digest = article.Digest(sum[:])
	if a.LittleText {
		a.Fingerprint = simhash.Fingerprint(binary.BigEndian.Uint64(a.Digest[:]))
	}
}

// appendNormalised appends to dst what makes the Digest of a clean text, by its SHA-256: white space, punctuation and
// symbols are left out, so that spacing and punctuation do not matter. Where they could change a number they stay:
// a punctuation mark or symbol next to a digit (3.5 is not 35, nor is -5 equal to 5%), and one space between two
// digits.
func appendNormalised(dst []byte, clean string) []byte {
	afterDigit, spaced := false, false // of the character before; white space after a digit
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

// plainWord is the length of the letters a-z and the most frequent Han characters that s begins with: the bulk of
// any text, found without decoding it. The bytes E5 to E9 begin U+5000 to U+9FFF.
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

// classOf tells what a character of a clean text counts as.
func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z' || r >= firstHan && r <= lastHan && r < 0x4dc0 || r >= 0x4e00 && r <= lastHan:
		return classWord
	case r >= '0' && r <= '9':
		return classDigit
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
