package text

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	escape       = `\u`
	escapeLength = len(escape) + 4
)

// unescape returns a text with the characters that JSON and JavaScript write as \u and four hexadecimal digits.
// Crawlers that search the scripts of a page leave them so, often with markup (\u003cp\u003e).
func unescape(text string) string {
	var plain []byte
	done := 0
	for i := 0; ; {
		at := strings.Index(text[i:], escape)
		if at < 0 {
			break
		}
		i += at
		r, length := readEscape(text[i:])
		if length == 0 {
			i += len(escape)
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
	if !strings.HasPrefix(s, escape) || len(s) < escapeLength {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[len(escape):escapeLength], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), escapeLength
}
