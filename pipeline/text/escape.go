package text

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape returns a text with the characters that JSON and JavaScript write as \u and four hexadecimal digits, or
// as \x and two. Crawlers that search the scripts of a page leave them so, often with markup (\u003cp\u003e). Python
// writes the bytes of a text in the second way, which makes mojibake.
func unescape(text string) string {
	plain, _ := replaceCharacters(text, '\\', readEscape)
	return plain
}

// replaceCharacters returns a text with the characters that read finds, and how many these are. read is called at each
// byte first, and returns the character for the beginning of what it gets, and the length of that beginning in bytes; 0
// if there is none.
func replaceCharacters(text string, first byte, read func(s string) (r rune, length int)) (replaced string, n int) {
	var out []byte
	done := 0
	for i := 0; ; {
		at := strings.IndexByte(text[i:], first)
		if at < 0 {
			break
		}
		i += at
		r, length := read(text[i:])
		if length == 0 {
			i++
			continue
		}
		out = utf8.AppendRune(append(out, text[done:i]...), r)
		i += length
		done = i
		n++
	}
	if n == 0 {
		return text, 0
	}
	return string(append(out, text[done:]...)), n
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
