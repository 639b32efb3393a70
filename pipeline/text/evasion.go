package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/limits"

	"golang.org/x/text/unicode/norm"
)

// Evasions are changes that make a copy pass as a new article although it reads the same. This file undoes
// three of them in clean texts: Chinese with a space after each character, symbols within words, and letters of
// other scripts that look like Latin letters (lookalike.go). Evasions are undone before fingerprint and digest are made, so neither sees them. A text that was written like that
// without bad intent is folded as well, and so are its copies. Folding does not make copies of different
// articles, because it only changes characters by which readers do not tell texts apart.

// maxEvasionPasses bounds how often evasions are looked for. Ordinary texts take one pass, and texts with
// look-alike letters two or three: a folded letter and the accent behind it can form one character. Only a text
// that was made for it needs more.
const maxEvasionPasses = 8

// undoEvasions folds a clean text, which it may change in place. The result is clean, too, and undoEvasions
// leaves it as it is.
func undoEvasions(clean []byte, seen traits) []byte {
	if seen&hasSpacedHan != 0 {
		clean = joinSpaced(clean)
	}
	for range maxEvasionPasses {
		clean = dropSymbols(clean)
		if seen&hasForeign == 0 {
			break
		}
		folded, changed := foldLookAlikes(clean)
		if !changed {
			break
		}
		// NFC puts a joiner behind 30 marks. A clean text has none.
		clean = bytes.ReplaceAll(norm.NFC.Bytes(folded), []byte("\u034f"), nil)
	}
	return clean
}

// joinSpaced removes spaces beside Han characters and kana: all of them in a line where most of these
// characters are separated by spaces (isSpaced); in other lines, the spaces in runs of at least
// limits.SpacedCharacters single characters, of which at least three are Han or kana.
func joinSpaced(clean []byte) []byte {
	out := clean[:0]
	for start := 0; start < len(clean); {
		end := start + bytes.IndexByte(clean[start:], '\n') + 1
		if end == start {
			end = len(clean)
		}
		switch line := clean[start:end]; {
		// most lines: neither function below can remove a space
		case bytes.Count(line, []byte{' '}) < limits.SpacedCharacters-1:
			out = append(out, line...)
		case isSpaced(line):
			out = appendUnspaced(out, line)
		default:
			out = appendRunsJoined(out, line)
		}
		start = end
	}
	return out
}

// isSpaced tells whether, in a line, more neighbouring Han characters and kana are separated by a space than are not.
func isSpaced(line []byte) bool {
	spaced, joined := 0, 0
	before := [2]rune{}
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		i += size
		if isEastAsian(r) {
			spaced += count(before[1] == ' ' && isEastAsian(before[0]))
			joined += count(isEastAsian(before[1]))
		}
		before = [2]rune{before[1], r}
	}
	return spaced > joined && spaced >= limits.SpacedCharacters
}

// appendUnspaced appends a line without its spaces, except the spaces between two ASCII words of at least two
// letters or digits.
func appendUnspaced(dst, line []byte) []byte {
	for i, c := range line {
		if c == ' ' && i > 0 && i+1 < len(line) && (!isASCIIWord(line, i-2, i-1) || !isASCIIWord(line, i+2, i+1)) {
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// isASCIIWord tells whether the bytes at far and near, which stand beside a space, are both ASCII letters or digits.
func isASCIIWord(line []byte, far, near int) bool {
	plain := func(i int) bool { return i >= 0 && i < len(line) && (isLetter(line[i]) || isDigit(line[i])) }
	return plain(near) && plain(far)
}

// appendRunsJoined appends a line. In runs of at least limits.SpacedCharacters pieces of single characters it
// leaves out the spaces, if at least half of the pieces hold a Han character or kana.
func appendRunsJoined(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		end, pieces, cjk := i, 0, 0
		for end < len(line) {
			length, n, single := piece(line[end:])
			if !single {
				break
			}
			pieces, cjk, end = pieces+1, cjk+n, end+length
		}
		if pieces < limits.SpacedCharacters || 2*cjk < pieces {
			if end == i {
				length, _, _ := piece(line[i:])
				end += length
			}
			dst = append(dst, line[i:end]...)
		} else {
			for _, c := range line[i:end] {
				if c != ' ' {
					dst = append(dst, c)
				}
			}
			if line[end-1] == ' ' && end < len(line) {
				dst = append(dst, ' ')
			}
		}
		i = end
	}
	return dst
}

// piece measures the text up to and including the next space. single tells whether it is like one character
// with its punctuation: it has at most three characters, and no two letters, Han characters or digits side by
// side. cjk is then its number of Han characters and kana.
func piece(clean []byte) (length, cjk int, single bool) {
	runes, before := 0, classSpace
	for length < len(clean) {
		r, size := utf8.DecodeRune(clean[length:])
		length += size
		if r == ' ' {
			break
		}
		runes++
		class := classOf(r)
		if isEastAsian(r) {
			cjk++
		}
		if runes > 3 || class == before && class != classMark {
			if next := bytes.IndexByte(clean[length:], ' '); next >= 0 {
				return length + next + 1, 0, false
			}
			return len(clean), 0, false
		}
		before = class
	}
	return length, cjk, true
}

// isEastAsian tells whether r is a Han character or a kana. Both are written without spaces.
func isEastAsian(r rune) bool {
	return r >= firstHan && r <= lastHan || r >= 0x3041 && r <= 0x30ff
}

// symbolKind says, by the first byte of a character, whether the character may be a symbol within a word.
var symbolKind = func() (table [256]uint8) {
	for _, c := range "~^*" {
		table[c] = symbolAnywhere
	}
	for _, c := range "+/=#|_`" {
		table[c] = symbolInHan
	}
	table[0xc2] = symbolAnywhere // begins U+00B7, the middle dot, and other symbols
	return table
}()

const (
	symbolAnywhere = iota + 1 // never part of a word
	symbolInHan               // has a meaning between letters, as in and/or, but not between Han characters
)

// dropSymbols removes symbols that stand between two letters or between two Han characters.
func dropSymbols(clean []byte) []byte {
	out, done := clean[:0], 0
	for i := 1; i < len(clean); i++ {
		if i+4 <= len(clean) { // most of any text, with a quarter of the branches
			c := (*[4]byte)(clean[i:])
			if symbolKind[c[0]]|symbolKind[c[1]]|symbolKind[c[2]]|symbolKind[c[3]] == 0 {
				i += 3
				continue
			}
		}
		if symbolKind[clean[i]] == 0 {
			continue
		}
		// The run of symbols that begins here.
		end, anywhere := i, true
		for end < len(clean) {
			switch k := symbolKind[clean[end]]; {
			case clean[end] == 0xc2 && end+1 < len(clean) && clean[end+1] == 0xb7:
				end += 2
				continue
			case clean[end] != 0xc2 && k != 0:
				anywhere = anywhere && k == symbolAnywhere
				end++
				continue
			}
			break
		}
		if end == i {
			continue
		}
		if before, after := wordBefore(clean[:i]), wordAfter(clean[end:]); before == after &&
			(before == hanWord || before == letterWord && anywhere) {
			out = append(out, clean[done:i]...)
			done = end
		}
		i = end - 1
	}
	return append(out, clean[done:]...)
}

type wordKind uint8

const (
	noWord wordKind = iota
	hanWord
	letterWord
)

func wordBefore(clean []byte) wordKind {
	r, _ := utf8.DecodeLastRune(clean)
	return wordKindOf(r)
}

func wordAfter(clean []byte) wordKind {
	r, _ := utf8.DecodeRune(clean)
	return wordKindOf(r)
}

func wordKindOf(r rune) wordKind {
	switch {
	case isEastAsian(r):
		return hanWord
	case r < utf8.RuneSelf && isLetter(byte(r)), r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r):
		return letterWord
	}
	return noWord
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
