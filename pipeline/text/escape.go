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
	var plain []byte
	done := 0
	for i := 0; ; {
		at := strings.IndexByte(text[i:], '\\')
		if at < 0 {
			break
		}
		i += at
		r, length := readEscape(text[i:])
		if length == 0 {
			i++
			continue
		}
		plain = utf8.AppendRune(append(plain, text[done:i]...), r)
		i += length
		done = i
	}
	if done == 0 {
		return text
	}
	return string(append(plain, text[done:]...))
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
