package text

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Mojibake is UTF-8 that a program has read as windows-1252 or ISO-8859-1: "Ã¼" for "ü", "ä¸­" for "中". Crawlers
// make it of pages that do not name their encoding, and no word of such a copy is a word of its original.

// undoMojibake returns a text with its mojibake read as UTF-8, also if it was misread several times. A text is
// mojibake if it has more misread characters than others beyond ASCII that are no part of one. "é »" with a no-break
// space in a French text is none, nor is "×”" in a Chinese text.
func undoMojibake(text string) string {
	// the first byte of U+00C0 to U+00FF, and of nothing else
	replaced, misread := replaceCharacters(text, "À"[0], readMojibake)
	if misread == 0 || misread <= countWide(replaced)-misread {
		return text
	}
	return undoMojibake(replaced)
}

// countWide counts the characters of a text beyond ASCII.
func countWide(text string) (n int) {
	for i := range len(text) {
		n += count(text[i] >= 0xc0)
	}
	return n
}

// readMojibake returns the character that was misread as the beginning of s, and the length of that beginning in
// bytes; 0 if there is none. The character is U+FFFD if one of its bytes has no character in windows-1252, and was
// lost.
func readMojibake(s string) (r rune, length int) {
	if len(s) < 3 || s[2] < utf8.RuneSelf {
		return 0, 0 // most letters with an accent
	}
	var misread [utf8.UTFMax]byte
	lost := false
	for n := range misread {
		c, size := utf8.DecodeRuneInString(s[length:])
		length += size
		octet, known := byte(c), c <= 0xff
		switch {
		case known:
		case c == utf8.RuneError && size > 1:
			octet, lost = 0x90, true // one of the five that have none
		default:
			if octet, known = charmap.Windows1252.EncodeRune(c); !known {
				return 0, 0
			}
		}
		misread[n] = octet
		if utf8.FullRune(misread[:n+1]) {
			r, size = utf8.DecodeRune(misread[:n+1])
			switch {
			case size == 1: // not UTF-8
				return 0, 0
			case lost:
				r = utf8.RuneError
			}
			return r, length
		}
	}
	return 0, 0
}
