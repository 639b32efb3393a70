package text

import (
	"unicode/utf8"
)

// Greek, Cyrillic and Armenian.
const (
	firstForeign = 0x370
	lastForeign  = 0x58f
)

// lookAlikes lists small letters that look like a Latin letter, from the table of confusable characters of
// Unicode Technical Standard 39. Each string is a Latin letter followed by the letters that look like it. A
// letter also counts if only its capital looks like a Latin capital, because cleaning has made all letters
// small.
var lookAlikes = map[alphabet][]string{
	greek: {"aα", "bβ", "eε", "hη", "iι", "jϳ", "kκ", "mμ", "oο", "pρ", "tτ", "uυ", "vν", "xχ", "yγ", "zζ"},
	cyrillic: {
		"aа", "bв", "cс", "dԁ", "eеҽ", "gԍ", "hнһ", "iі", "jј", "kк", "lӏ", "mм", "oо", "pр", "qԛ", "sѕ", "tт", "vѵ",
		"wԝ", "xх", "yуү",
	},
	armenian: {"gց", "hհ", "nո", "oօ", "qզ", "uս", "wա"},
}

type alphabet uint8

const (
	latin alphabet = iota
	greek
	cyrillic
	armenian
	alphabets
)

// toLatin is the Latin letter that a letter of another alphabet looks like, 0 for none. fromLatin is, by
// alphabet, the first letter that looks like a Latin letter, 0 for none.
var toLatin, fromLatin = func() (to [lastForeign - firstForeign + 1]byte, from [alphabets]['z' + 1]rune) {
	for alphabet, list := range lookAlikes {
		for _, letters := range list {
			for i, r := range letters {
				if i > 0 {
					to[r-firstForeign] = letters[0]
					if from[alphabet][letters[0]] == 0 {
						from[alphabet][letters[0]] = r
					}
				}
			}
		}
	}
	return to, from
}()

// alphabetOf returns the alphabet of a letter. ok is false for all other characters and other alphabets.
func alphabetOf(r rune) (a alphabet, ok bool) {
	switch {
	case r < utf8.RuneSelf:
		return latin, isLetter(byte(r))
	case r < firstForeign || r > lastForeign:
		return 0, false
	case r < 0x400:
		return greek, true
	case r < 0x530:
		return cyrillic, true
	}
	return armenian, true
}

// foldLookAlikes writes each word in one alphabet, as far as its letters look alike. If the word has letters
// of only one alphabet that look like no other letter, it is written in that alphabet, otherwise in the main
// alphabet of the text. changed tells whether any letter was exchanged.
//
// Example: in an English text, "сосо" of four Cyrillic letters becomes the Latin "coco". In a Russian text,
// "гoвoрят" with a Latin o becomes all Cyrillic, because г and я look like no Latin letter.
//
// One call exchanges letters between Latin and the most used other alphabet of the text; undoEvasions calls
// it until nothing changes. It does not change its argument.
func foldLookAlikes(clean []byte) (folded []byte, changed bool) {
	var certain [alphabets]int // number of letters that look like no other letter
	var all [alphabets]int     // number of letters
	for i := 0; i < len(clean); {
		r, size := utf8.DecodeRune(clean[i:])
		if a, ok := alphabetOf(r); ok && a != latin {
			all[a]++
			certain[a] += count(toLatin[r-firstForeign] == 0)
		}
		i += size
	}
	foreign := greek
	for a := cyrillic; a < alphabets; a++ {
		if all[a] > all[foreign] {
			foreign = a
		}
	}
	for _, c := range clean {
		if isLetter(c) {
			all[latin]++
			certain[latin] += count(fromLatin[foreign][c] == 0)
		}
	}
	main := latin
	if certain[foreign] > certain[latin] || certain[foreign] == certain[latin] && all[foreign] > all[latin] {
		main = foreign
	}
	var out []byte // nil as long as nothing changes
	for i := 0; i < len(clean); {
		n, target := lookAlikeWord(clean[i:], foreign, main)
		switch {
		case n > 0 && (out != nil || hasOther(clean[i:i+n], foreign, target)):
			if out == nil {
				out = append(make([]byte, 0, len(clean)+len(clean)/8), clean[:i]...)
			}
			out = appendIn(out, clean[i:i+n], foreign, target)
		case n > 0:
		default:
			_, n = utf8.DecodeRune(clean[i:])
			if out != nil {
				out = append(out, clean[i:i+n]...)
			}
		}
		i += n
	}
	if out == nil {
		return clean, false
	}
	return out, true
}

// hasOther tells whether appendIn would exchange letters of a word.
func hasOther(word []byte, foreign, target alphabet) bool {
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if a, _ := alphabetOf(r); a != target && (a == latin && fromLatin[foreign][r] != 0 || a == foreign &&
			toLatin[r-firstForeign] != 0) {
			return true
		}
		i += size
	}
	return false
}

// lookAlikeWord returns the length of the word of Latin or foreign letters at the beginning of clean, 0 for
// none, and the alphabet in which to write it.
func lookAlikeWord(clean []byte, foreign, main alphabet) (length int, target alphabet) {
	var certain [alphabets]bool
	for length < len(clean) {
		r, size := utf8.DecodeRune(clean[length:])
		a, ok := alphabetOf(r)
		if !ok || a != latin && a != foreign {
			break
		}
		if a == latin && fromLatin[foreign][r] == 0 || a == foreign && toLatin[r-firstForeign] == 0 {
			certain[a] = true
		}
		length += size
	}
	switch {
	case certain[latin] && !certain[foreign]:
		return length, latin
	case certain[foreign] && !certain[latin]:
		return length, foreign
	}
	return length, main
}

// appendIn appends a word with its letters exchanged for letters of the alphabet target that look alike.
// Letters without a look-alike stay.
func appendIn(dst, word []byte, foreign, target alphabet) []byte {
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		switch a, _ := alphabetOf(r); {
		case target == latin && a == foreign && toLatin[r-firstForeign] != 0:
			r = rune(toLatin[r-firstForeign])
		case target == foreign && a == latin && fromLatin[foreign][r] != 0:
			r = fromLatin[foreign][r]
		}
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}
