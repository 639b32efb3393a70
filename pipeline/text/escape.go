package text

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// unescape returns a text with the characters that JSON and JavaScript write as \u and four hexadecimal digits, or
// as \x and two. Crawlers that search the scripts of a page leave them so, often with markup (\u003cp\u003e). Python
// writes the bytes of a text in the second way, which makes mojibake.
func unescape(text string) string {
	plain, _ := Replace(text, '\\', readEscape)
	return plain
}

// unquote returns a text without the codes of quoted-printable (=C3=BC), if they hide most of its characters beyond
// ASCII, or of addresses (%C3%BC), if most of the text consists of them.
func unquote(text string) string {
	if strings.Contains(text, "=C") || strings.Contains(text, "=E") || strings.Contains(text, "=D") {
		joined := strings.ReplaceAll(strings.ReplaceAll(text, "=\r\n", ""), "=\n", "")
		if plain, _ := Replace(joined, '=', readOctets); countWide(plain) > 2*countWide(text)+3 {
			return plain
		}
	}
	if plain, n := Replace(text, '%', readOctets); n > 0 && 2*len(plain) < len(text) {
		return plain
	}
	return text
}

// readOctets returns the character each of whose bytes in UTF-8 is written as s begins, and two hexadecimal digits, and
// the length of all that; 0 if there is none.
func readOctets(s string) (r rune, length int) {
	return readUTF8(s, func(rest string) (octet byte, length int) {
		if len(rest) < 3 || rest[0] != s[0] {
			return 0, 0
		}
		n, err := strconv.ParseUint(rest[1:3], 16, 8)
		if err != nil {
			return 0, 0
		}
		return byte(n), 3
	})
}

// readUTF8 returns the character at the beginning of s, and the length of what it was read from; 0 if there is none. read
// returns a byte of the character in UTF-8, and the length of what stands for it at the beginning of what it gets; 0 if
// there is none.
func readUTF8(s string, read func(rest string) (octet byte, length int)) (r rune, length int) {
	var octets [utf8.UTFMax]byte
	for n := range octets {
		octet, size := read(s[length:])
		if size == 0 {
			return 0, 0
		}
		octets[n] = octet
		length += size
		if utf8.FullRune(octets[:n+1]) {
			if r, n = utf8.DecodeRune(octets[:n+1]); r == utf8.RuneError && n <= 1 {
				return 0, 0
			}
			return r, length
		}
	}
	return 0, 0
}

// Replace returns a text with others in place of what read finds, and how often it found something. read is called at
// each byte first, and returns what replaces the beginning of what it gets, and the length of that beginning in bytes; 0
// if there is nothing to replace.
func Replace[T rune | string](text string, first byte, read func(s string) (with T, length int)) (
	replaced string, n int,
) {
	var out strings.Builder
	done := 0
	for i := 0; ; {
		at := strings.IndexByte(text[i:], first)
		if at < 0 {
			break
		}
		i += at
		with, length := read(text[i:])
		if length == 0 {
			i++
			continue
		}
		if n == 0 {
			out.Grow(len(text))
		}
		out.WriteString(text[done:i])
		out.WriteString(string(with))
		i += length
		done = i
		n++
	}
	if n == 0 {
		return text, 0
	}
	out.WriteString(text[done:])
	return out.String(), n
}

// readEscape returns the character whose escape begins s, and the length of the escape; 0 if there is none. Two
// surrogates are one character (RFC 8259, section 7); one alone becomes U+FFFD.
func readEscape(s string) (r rune, length int) {
	r, length = readUnit(s)
	if !utf16.IsSurrogate(r) {
		return r, length
	}
	low, more := readUnit(s[length:])
	if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
		length += more
	}
	return r, length
}

// readUnit returns the code unit of UTF-16 whose escape begins s, and the length of the escape; 0 if there is none.
func readUnit(s string) (unit rune, length int) {
	switch {
	case strings.HasPrefix(s, `\u`):
		length = len(`\u0000`)
	case strings.HasPrefix(s, `\x`):
		length = len(`\x00`)
	}
	if length == 0 || len(s) < length {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[len(`\u`):length], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), length
}

// Mojibake is UTF-8 that a program has read as windows-1252 or ISO-8859-1: "Ã¼" for "ü", "ä¸­" for "中".
// Crawlers make it of pages that do not name their encoding, and no word of such a copy is a word of its original.

// undoMojibake returns a text with its mojibake read as UTF-8, also if it was misread several times. A text is
// mojibake if it has more misread characters than others beyond ASCII that are no part of one. "é »" with a no-break
// space in a French text is none, nor is "×”" in a Chinese text.
func undoMojibake(text string) string {
	// the first byte of U+00C0 to U+00FF, and of nothing else
	replaced, misread := Replace(text, "À"[0], readMojibake)
	if misread == 0 || misread <= countWide(replaced)-misread {
		return text
	}
	return undoMojibake(replaced)
}

// countWide counts the characters of a text beyond ASCII.
func countWide(text string) (n int) {
	for i := range len(text) {
		if text[i] >= 0xc0 {
			n++
		}
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
	lost := false
	r, length = readUTF8(s, func(rest string) (octet byte, length int) {
		c, size := utf8.DecodeRuneInString(rest)
		if c <= 0xff {
			return byte(c), size
		}
		if c == utf8.RuneError && size > 1 {
			lost = true
			return 0x90, size // one of the five that have none
		}
		octet, known := charmap.Windows1252.EncodeRune(c)
		if !known {
			return 0, 0
		}
		return octet, size
	})
	if lost && length > 0 {
		r = utf8.RuneError
	}
	return r, length
}
