package recipe

import "strings"

// Plain text is ASCII without '#' and '+', with typographic dashes and quotation marks. jieba's dictionary has no
// lower-case word made of such characters (but "c#" and "c++"), so that only its simple rules for letters and digits
// apply to it. A run of plain text without a separator is cut here when it is too long for a cutter. A seam would change
// the fingerprints of such texts: of long addresses, and of data that was pasted into an article.

// nextField returns the length of the text up to and including jieba's next separator, and whether it is plain.
func nextField(text string) (length int, plain bool) {
	plain = true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\n':
			return i + 1, plain
		case c == '#' || c == '+':
			plain = false
		case c >= 0x80 && plain:
			if !strings.HasPrefix(text[i:], "\u2014"[:2]) || i+2 >= len(text) || text[i+2] < 0x93 || text[i+2] > 0x9d {
				plain = false // not one of U+2013 to U+201D
			}
			i += 2
		}
	}
	return len(text), plain
}

// cutPlain appends the words of plain text: a letter with the letters and digits that follow, or a digit with the
// digits and full stops that follow. It leaves out all other characters.
func cutPlain(dst []string, text string, full spill) []string {
	for i := 0; i < len(text); {
		start, c := i, text[i]
		i++
		switch {
		case isLetter(c):
			for i < len(text) && (isLetter(text[i]) || isDigit(text[i])) {
				i++
			}
		case isDigit(c):
			for i < len(text) && (isDigit(text[i]) || text[i] == '.') {
				i++
			}
		default:
			continue
		}
		dst = full.after(append(dst, text[start:i]))
	}
	return dst
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// hasPlainWord tells whether one of the lines "word ..." has a word of plain characters only.
func hasPlainWord(userWords []byte) bool {
	for line := range strings.Lines(string(userWords)) {
		word, _, _ := strings.Cut(line, " ")
		if _, plain := nextField(word); plain {
			return true
		}
	}
	return false
}
