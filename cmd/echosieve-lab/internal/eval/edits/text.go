package edits

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// endsSentence holds the characters that end a sentence in one script or another.
const endsSentence = ".!?…。！？।॥۔؟።፧"

// sentences cuts a text after each end of a sentence and after each line. The pieces together are the text. A
// Thai text has no such characters: it is cut at its spaces.
func sentences(text string) []string {
	pieces := cutAfter(text, func(r, next rune) bool {
		return r == '\n' || strings.ContainsRune(endsSentence, r) && (r > 0x2fff || unicode.IsSpace(next))
	})
	if len(pieces) < 4 {
		return cutAfter(text, func(r, next rune) bool {
			return unicode.IsSpace(r) && unicode.Is(unicode.Thai, next) ||
				r == '\n'
		})
	}
	return pieces
}

// cutAfter cuts a text after each character for which ends is true of it and the next one, and after the
// white space that follows. Pieces without a letter stay with the piece before.
func cutAfter(text string, ends func(r, next rune) bool) []string {
	var pieces []string
	start, ended, letters := 0, false, false
	for i, r := range text {
		if ended && letters && !unicode.IsSpace(r) {
			pieces = append(pieces, text[start:i])
			start, letters = i, false
		}
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		ended = ends(r, next) || ended && unicode.IsSpace(r)
		letters = letters || unicode.IsLetter(r)
	}
	return append(pieces, text[start:])
}

// words cuts a text into words and what is between them. Scripts without spaces between words give pieces of
// two characters. The pieces together are the text; isWord tells words apart.
func words(text string) []string {
	var pieces []string
	start, runes, before := 0, 0, kind(0)
	for i, r := range text {
		k := kindOf(r)
		if k != before || k == noSpaces && runes == 2 {
			if i > start {
				pieces = append(pieces, text[start:i])
			}
			start, runes = i, 0
		}
		before = k
		if !unicode.IsMark(r) {
			runes++
		}
	}
	return append(pieces, text[start:])
}

type kind uint8

const (
	noLetter kind = iota + 1
	spaced
	noSpaces
)

func kindOf(r rune) kind {
	switch {
	case !unicode.IsLetter(r) && !unicode.IsMark(r):
		return noLetter
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar):
		return noSpaces
	}
	return spaced
}

func isWord(piece string) bool {
	r, _ := utf8.DecodeRuneInString(piece)
	return kindOf(r) != noLetter
}

// digitsIn counts the digits of a text.
func digitsIn(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
