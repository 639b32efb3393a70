package edits

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// losses are the ways in which writers, keyboards and programs lose or add marks. Each is an edit of a copy.
// Where a text has none of the characters, it stays as it is.
var losses = []struct {
	kind  string
	apply func(d draws, text string) string
}{
	{"upper_case", func(d draws, text string) string { return cases.Upper(language.Make(d.language)).String(text) }},
	{"accents_lost", func(_ draws, text string) string { return withoutMarks(text, unicode.Latin, unicode.Greek) }},
	{"letters_plain", func(_ draws, text string) string {
		return plainLetters.Replace(withoutMarks(text, unicode.Latin, unicode.Greek))
	}},
	{"yo_lost", func(_ draws, text string) string { return plainCyrillic.Replace(text) }},
	{"nukta_lost", func(_ draws, text string) string { return without(text, '\u093c', '\u09bc', '\u0a3c') }},
	{"alef_taa", func(_ draws, text string) string { return plainArabic.Replace(text) }},
	{"yeh_kaf", func(_ draws, text string) string { return otherKeyboard.Replace(text) }},
	{"harakat_added", func(d draws, text string) string {
		return d.addMarks(text, unicode.Arabic, "\u064e\u064f\u0650\u0652")
	}},
	{"niqqud_added", func(d draws, text string) string {
		return d.addMarks(text, unicode.Hebrew, "\u05b0\u05b4\u05b7\u05b8")
	}},
	{"tatweel_added", func(d draws, text string) string { return d.addMarks(text, unicode.Arabic, "\u0640") }},
	{"apostrophes_curved", func(_ draws, text string) string { return apostrophes.Replace(text) }},
	{"native_digits", nativeDigits},
	{"separators_lost", withoutSeparators},
}

var (
	plainLetters = strings.NewReplacer("đ", "d", "Đ", "D", "ł", "l", "Ł", "L", "ø", "o", "Ø", "O", "ı", "i", "ß",
		"ss", "æ", "ae", "œ", "oe", "ɗ", "d", "ɓ", "b", "ƙ", "k")
	plainCyrillic = strings.NewReplacer("ё", "е", "Ё", "Е", "ґ", "г", "Ґ", "Г")
	plainArabic   = strings.NewReplacer("أ", "ا", "إ", "ا", "آ", "ا", "ٱ", "ا", "ى", "ي", "ة", "ه")
	apostrophes   = strings.NewReplacer("'", "’", "’", "ʼ", "ʼ", "'")
	otherKeyboard = strings.NewReplacer("ي", "ی", "ك", "ک", "ی", "ي", "ک", "ك")
)

// withoutMarks removes the marks of the letters of some scripts.
func withoutMarks(text string, scripts ...*unicode.RangeTable) string {
	var b strings.Builder
	marked := false // the letter before belongs to the scripts
	for _, r := range norm.NFD.String(text) {
		if marked && unicode.Is(unicode.Mn, r) {
			continue
		}
		marked = unicode.In(r, scripts...)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

func without(text string, marks ...rune) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		for _, mark := range marks {
			if r == mark {
				return -1
			}
		}
		return r
	}, norm.NFD.String(text)))
}

// addMarks puts one of the marks behind a third of the letters of a script, except at the end of a word.
func (d draws) addMarks(text string, script *unicode.RangeTable, marks string) string {
	var b strings.Builder
	runes, choice := []rune(text), []rune(marks)
	for i, r := range runes {
		b.WriteRune(r)
		if unicode.IsLetter(r) && unicode.Is(script, r) && i+1 < len(runes) && unicode.IsLetter(runes[i+1]) &&
			d.IntN(3) == 0 {
			b.WriteRune(choice[d.IntN(len(choice))])
		}
	}
	return b.String()
}

// nativeDigits writes ASCII digits as the digits of the language's own script.
func nativeDigits(d draws, text string) string {
	zeros := map[string]rune{"ar": 0x660, "fa": 0x6f0, "ur": 0x6f0, "hi": 0x966, "mr": 0x966, "ne": 0x966,
		"bn": 0x9e6, "th": 0xe50}
	zero, known := zeros[d.language]
	if !known {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, text)
}

// withoutSeparators writes numbers without the separator of their thousands, whichever the language uses.
func withoutSeparators(_ draws, text string) string {
	runes := []rune(text)
	out := make([]rune, 0, len(runes))
	for i, r := range runes {
		if strings.ContainsRune(".,'’\u00a0\u202f\u066c", r) && i > 0 && isDigit(runes, i-1) &&
			isDigit(runes, i+1) && isDigit(runes, i+2) && isDigit(runes, i+3) && !isDigit(runes, i+4) &&
			!isDigit(runes, i-4) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

func isDigit(runes []rune, i int) bool {
	return i >= 0 && i < len(runes) && unicode.IsDigit(runes[i])
}
