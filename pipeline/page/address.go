package page

import (
	"bytes"
	"strings"
)

// Addresses are no words of an article: the targets of links in Markdown, and bare addresses of the web. Two extractors
// write them differently, and two articles with the same picture would have most words in common. The text of a link
// stays. Of Markdown's marks nothing needs to go but the numbers of references, because marks are no words.

// withoutAddresses returns a clean text without addresses, without the names of pictures in Markdown, and
// without its references.
func (f *Finder) withoutAddresses(clean string) string {
	if !hasAddress(clean) {
		return clean
	}
	f.plain = appendWithoutAddresses(f.plain[:0], clean)
	return string(f.plain)
}

// hasAddress tells whether a text may have something that appendWithoutAddresses leaves out.
func hasAddress(clean string) bool {
	has := func(sign string) bool { return strings.Contains(clean, sign) }
	// Few texts have the rare character of a sign, which is found much sooner than the sign.
	return has("]") && (has("](") || has("][") || has("]: ")) || has("://") || has("www.")
}

// appendWithoutAddresses appends a clean text without addresses. Time is linear in its length.
func appendWithoutAddresses(dst []byte, clean string) []byte {
	picture, pictureLine := -1, 0 // where in dst the picture begins whose name is being read, and its line
	line := 0                     // where in dst the line begins
	label := true                 // no square bracket has ended in the line
	for i := 0; i < len(clean); {
		c := clean[i]
		switch {
		case c == '!' && strings.HasPrefix(clean[i:], "!["):
			picture, pictureLine = len(dst), line
		case c == ']':
			if n := target(clean[i+1:]); n > 0 {
				if picture >= 0 {
					dst, line, picture = dst[:picture], pictureLine, -1
				} else {
					dst = append(dst, c)
				}
				i += 1 + n
				continue
			}
			if label && line < len(dst) && dst[line] == '[' {
				if n := definition(clean[i+1:]); n > 0 {
					dst = dst[:line]
					i += 1 + n
					continue
				}
			}
			label = false
			i += reference(clean[i+1:])
		case c == ':' && strings.HasPrefix(clean[i:], "://"), c == '.' && bytes.HasSuffix(dst, []byte("www")):
			dst = bytes.TrimRight(dst, "abcdefghijklmnopqrstuvwxyz") // the scheme, or www
			i += addressLength(clean[i:])
			continue
		}
		dst = append(dst, c)
		i++
		if c == '\n' {
			line, label = len(dst), true
		}
	}
	return dst
}

// target returns the length of the target of a link at the beginning of s, with its brackets: an address,
// perhaps with a title in quotation marks behind it. It is 0 if there is none. It ends at the next square
// bracket, so that a text of brackets takes linear time.
func target(s string) int {
	if s == "" || s[0] != '(' {
		return 0
	}
	depth, address, title := 0, false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				if address || i == 1 {
					return i + 1
				}
				return 0
			}
		case c == '[' || c == ']':
			return 0
		case title:
		case c == '/' || c == '#' || c == '.' || c == ':' || c == '?':
			address = true
		case c == ' ':
			if title = i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\''); !title && address {
				return 0
			}
		}
	}
	return 0
}

// reference returns the length of the number of a reference at the beginning of s, with its brackets, such as
// [12]. It is 0 if there is none.
func reference(s string) int {
	if !strings.HasPrefix(s, "[") {
		return 0
	}
	rest := strings.TrimLeft(s[1:], "0123456789")
	if !strings.HasPrefix(rest, "]") {
		return 0
	}
	return len(s) - len(rest) + 1
}

// definition returns the length of what follows the label of a reference at the beginning of a line, such as
// ": /news/41" behind [12], up to the end of the line. It is 0 if this is no address.
func definition(s string) int {
	if !strings.HasPrefix(s, ":") {
		return 0
	}
	line, _, _ := strings.Cut(s, "\n")
	address := strings.TrimSpace(line[1:])
	if address == "" || strings.IndexByte(address, ' ') >= 0 || !strings.ContainsAny(address, "/#.") {
		return 0
	}
	return len(line)
}

// addressLength returns the length of an address up to white space, a quotation mark, a bracket that it does
// not open, or a character beyond ASCII. Punctuation at its end is not part of it.
func addressLength(s string) int {
	end, open := 0, 0
	for end < len(s) {
		c := s[end]
		if c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '[' || c == ']' || c == ')' && open == 0 {
			break
		}
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		end++
	}
	return 1 + len(strings.TrimRight(s[1:end], ".,;:!?'*_"))
}
