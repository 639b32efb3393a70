package sample

import "strings"

// polish sets capitals at the beginning of sentences and quotations, and the article "an" before vowels. It leaves Chinese as it is.
func polish(text string) string {
	text = strings.ReplaceAll(text, ",,", ",")
	out := make([]byte, 0, len(text)+8)
	begins := true // a sentence or quotation
	for i := range len(text) {
		c := text[i]
		switch {
		case begins && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c == ' ' && endsInA(out) && wantsAn(text[i+1:]):
			out = append(out, 'n')
		}
		switch c {
		case '"':
			begins = len(out) == 0 || out[len(out)-1] == ' ' || begins
		case ' ':
			begins = endsSentence(out)
		default:
			begins = false
		}
		out = append(out, c)
	}
	return string(out)
}

// endsSentence says whether the text ends in a full stop or the like, perhaps within a quotation.
func endsSentence(text []byte) bool {
	n := len(text)
	if n > 0 && text[n-1] == '"' {
		n--
	}
	return n > 0 && strings.IndexByte(".?!", text[n-1]) >= 0
}

// endsInA says whether the last word is the article "a".
func endsInA(text []byte) bool {
	n := len(text)
	return n > 0 && (text[n-1] == 'a' || text[n-1] == 'A') && (n == 1 || text[n-2] == ' ' || text[n-2] == '"')
}

// wantsAn says whether a text begins with a vowel as it is spoken.
func wantsAn(text string) bool {
	for _, spoken := range []string{"uni", "use", "eu", "one"} {
		if strings.HasPrefix(text, spoken) {
			return false
		}
	}
	if text == "" {
		return false
	}
	number, _, _ := strings.Cut(strings.TrimRight(text, ".,"), " ")
	return strings.IndexByte("aeiou8", text[0]) >= 0 || number == "11" || number == "18"
}
