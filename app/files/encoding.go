package files

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// metaBytes is how much of a page is searched for its encoding, in bytes. Browsers search the first 1,024
// bytes, and the rest of the head when they come to it.
const metaBytes = 256 << 10

// metaCharset finds the meta element of a page that names its encoding.
var metaCharset = regexp.MustCompile(`(?i)<meta\s[^>]*charset`)

// toUTF8 returns a page as browsers read it: a byte order mark counts most, then contentType, then the page's own
// meta element, then UTF-8. An encoding in which all bytes are characters goes before one in which some are not.
// ok is false if it is no text in any of these.
func toUTF8(data []byte, contentType string) (text string, ok bool) {
	named := make([]encoding.Encoding, 0, 4)
	for _, kind := range []string{contentType, ""} {
		if e, name, certain := charset.DetermineEncoding(data, kind); certain || name != "windows-1252" {
			named = append(named, e) // else nothing names one, and windows-1252 is what the library falls back to
		}
	}
	named = append(named, encoding.Nop)
	if m := metaCharset.FindIndex(data[:min(len(data), metaBytes)]); m != nil {
		e, _, _ := charset.DetermineEncoding(data[m[0]:], "")
		named = append(named, e)
	}
	first := ""
	for _, e := range named {
		text, strange := inUTF8(e, data)
		if strange == 0 {
			return text, true
		}
		if first == "" && isText(strange, len(text)) {
			first = text
		}
	}
	return first, first != ""
}

// inUTF8 returns data in UTF-8, and the number of strange characters in it.
func inUTF8(e encoding.Encoding, data []byte) (text string, strange int) {
	decoded, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", len(data)
	}
	decoded = bytes.TrimPrefix(decoded, []byte(byteOrderMark))
	return string(decoded), strangeIn(decoded)
}

// strangeIn counts characters that no text has: control characters, and replacements of what could not be decoded.
func strangeIn(text []byte) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError || unicode.Is(unicode.Cc, r) && r != '\n' && r != '\r' && r != '\t' && r != '\f' {
			n++
		}
		text = text[size:]
	}
	return n
}

// isText says whether strange characters are so few among the bytes of a text that it is damaged, and not
// something else.
func isText(strange, bytes int) bool { return strange <= 2 || strange*100 <= bytes }
