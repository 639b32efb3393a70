package text

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// jieba knows Chinese and cuts ASCII words. It would make a word of every single letter of another script, so
// it gets Chinese and ASCII only, and this file cuts the other scripts: by the rules of Unicode (UAX 29)
// where words have spaces between them; into pairs of characters in kana, Thai, Lao, Khmer, Burmese and
// Tibetan, which have no spaces.

type scriptKind uint8

const (
	cutByJieba scriptKind = iota // ASCII, Han, and everything that is no letter
	cutAtSpaces
	cutInPairs
)

// scriptOf returns how the first character of s is cut, and the character's length in bytes.
func scriptOf(s string) (kind scriptKind, size int) {
	switch c := s[0]; {
	case c < utf8.RuneSelf:
		return cutByJieba, 1
	case beginsHan(c) && len(s) >= 3:
		return cutByJieba, 3
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError, isUsualMark(r), !unicode.IsLetter(r) && !unicode.IsMark(r), unicode.Is(unicode.Han, r),
		r == 0x30fb:
		return cutByJieba, size
	case r >= 0x3041 && r <= 0x30ff, r >= 0xe00 && r <= 0xfff, r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x17ff:
		return cutInPairs, size
	}
	return cutAtSpaces, size
}

// Cut appends the words of a clean text in any script to dst. Of a long text, words are spilled in between.
func (s *Segmenter) Cut(dst []string, clean string, full Spill) []string {
	done := 0
	for i := 0; i < len(clean); {
		switch c := clean[i]; { // most of any text, without a function call
		case c < utf8.RuneSelf:
			i++
			for i+8 <= len(clean) && binary.LittleEndian.Uint64([]byte(clean[i:i+8]))&nonASCII == 0 {
				i += 8
			}
			continue
		case beginsHan(c):
			i += 3
			continue
		}
		kind, size := scriptOf(clean[i:])
		if kind == cutByJieba {
			i += size
			continue
		}
		start, end := i, i+size
		if kind == cutAtSpaces {
			for start > done && (isLetter(clean[start-1]) || isDigit(clean[start-1])) {
				start--
			}
			end = endOfSpaced(clean, end)
		} else {
			for end < len(clean) {
				k, size := scriptOf(clean[end:])
				if k != cutInPairs {
					break
				}
				end += size
			}
		}
		if start > done {
			dst = s.cut(dst, clean[done:start], full)
		}
		if kind == cutAtSpaces {
			dst = cutSpaced(dst, clean[start:end], full)
		} else {
			dst = cutPairs(dst, clean[start:end], full)
		}
		i, done = end, end
	}
	if done == 0 {
		return s.cut(dst, clean, full)
	}
	return s.cut(dst, clean[done:], full)
}

const (
	eachByte = 0x0101010101010101 // times a byte: that byte eight times
	nonASCII = 0x80 * eachByte    // the bits that are set in eight bytes that are no ASCII
)

// endOfSpaced returns the end of the text with spaces between its words that continues at i: it ends before
// the next character that is Han or cut in pairs.
func endOfSpaced(clean string, i int) int {
	for i < len(clean) {
		kind, size := scriptOf(clean[i:])
		if kind == cutInPairs || kind == cutByJieba && size == 3 && clean[i] >= 0xe3 {
			return i
		}
		i += size
	}
	return i
}

// cutSpaced appends the words of a text with spaces between them. ASCII is cut like plain text. The rules of
// Unicode keep "l'été" in one piece. Here it is two words, because it is also written with other characters
// than "'", and copies must have the same words.
func cutSpaced(dst []string, text string, full Spill) []string {
	for len(text) > 0 {
		if n := wordField(text); n > 0 {
			dst = full.after(append(dst, text[:n]))
			text = text[n+1:]
			continue
		}
		n, plain := nextField(text)
		field := text[:n]
		text = text[n:]
		if plain {
			dst = cutPlain(dst, field, full)
			continue
		}
		for pieces := words.FromString(field); pieces.Next(); {
			for word := range strings.FieldsFuncSeq(pieces.Value(), func(r rune) bool {
				c := classOf(r)
				return c != classWord && c != classDigit
			}) {
				dst = full.after(append(dst, word))
			}
		}
	}
	return dst
}

// cutPairs appends each pair of neighbouring characters, or the character itself if the text has only one. A
// letter with its marks is one character.
func cutPairs(dst []string, text string, full Spill) []string {
	start := 0 // where the last character begins
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsMark(r) {
				break
			}
			end += size
		}
		before := start
		start = i
		if start > 0 {
			dst = full.after(append(dst, text[before:end]))
		} else if end == len(text) {
			dst = full.after(append(dst, text))
		}
		i = end
	}
	return dst
}

// scriptSample is how much of a text decides about its main script, in bytes.
const scriptSample = 2000

// MainScript returns the script of most letters at the beginning of a clean text. Japanese has more Han
// characters than kana in some texts, and no other language mixes them: a tenth of kana decides.
func MainScript(clean string) article.Script {
	var letters [article.Scripts]int
	ascii, han := 0, 0
	sample := clean[:min(len(clean), scriptSample)]
	for i := 0; i < len(sample); {
		switch c := sample[i]; { // most of any text, without a function call
		case c < utf8.RuneSelf:
			ascii += int(letterBit[c])
			i++
		case beginsHan(c) && i+2 < len(sample):
			han++
			i += 3
		default:
			r, size := utf8.DecodeRuneInString(sample[i:])
			letters[letterScript(r)]++
			i += size
		}
	}
	letters[article.Latin] += ascii
	letters[article.Han] += han
	letters[article.NoScript] = 0
	if letters[article.Kana]*10 > letters[article.Han] {
		letters[article.Kana] += letters[article.Han]
		letters[article.Han] = 0
	}
	main := article.NoScript
	for script := range article.Scripts {
		if letters[script] > letters[main] {
			main = script
		}
	}
	return main
}

// letterBit is 1 for the letters a-z: adding it up takes no branch, which would be mispredicted at each end of a word.
var letterBit = func() (table [utf8.RuneSelf]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		table[c] = 1
	}
	return table
}()

// letterScript returns the script of a letter beyond ASCII, and NoScript for other characters.
func letterScript(r rune) article.Script {
	switch {
	case r < 0xaa || r == utf8.RuneError || isUsualMark(r):
		return article.NoScript
	case r >= firstHan && r <= lastHan:
		return article.Han
	case !unicode.IsLetter(r):
		return article.NoScript
	}
	for _, s := range scriptTables {
		if unicode.Is(s.table, r) {
			return s.script
		}
	}
	return article.OtherScript
}

// scriptTables are the scripts of letters that letterScript does not know by their range.
var scriptTables = []struct {
	table  *unicode.RangeTable
	script article.Script
}{
	{unicode.Latin, article.Latin},
	{unicode.Cyrillic, article.Cyrillic},
	{unicode.Hiragana, article.Kana},
	{unicode.Katakana, article.Kana},
	{unicode.Hangul, article.Hangul},
	{unicode.Arabic, article.Arabic},
	{unicode.Greek, article.Greek},
	{unicode.Hebrew, article.Hebrew},
	{unicode.Devanagari, article.Devanagari},
	{unicode.Thai, article.Thai},
	{unicode.Han, article.Han},
}

// inContext returns the hash that stands for a word in fingerprint and signature. In scripts that are cut in
// pairs, it is the hash of the pair and the pair before: a feature spans three characters, two neighbours in
// the signature span four. Their alphabets are small: most pairs are in most texts, so that with pairs the
// fingerprints of unrelated texts are 23 bits apart instead of 30, and long texts would have most of their
// sequences in common.
func inContext(word string, hash, previous uint64) uint64 {
	if kind, _ := scriptOf(word); kind != cutInPairs {
		return hash
	}
	return simhash.Mix(bits.RotateLeft64(previous, 1) ^ hash)
}

// CutSentence returns the length of the first sentence of a clean text: up to and including its end mark and
// the quotation marks and brackets that close with it, or up to the line end, without it. The length is 0 if
// the text begins with a line end.
//
// A full stop ends a sentence only before white space: "3.5" and "example.com" stay whole. "mr. smith" is cut
// in two, everywhere alike.
func CutSentence(clean string) int {
	passed := 0 // end of the last run of marks in which a full stop ended nothing: no other full stop of the run does
	for i := 0; i < len(clean); {
		switch c := clean[i]; {
		case c == '\n':
			return i
		case c == '.' && i >= passed:
			end := skipClosing(clean, i+1)
			if end == len(clean) || clean[end] == ' ' || clean[end] == '\n' {
				return end
			}
			passed = end
			i++
		case c == '!' || c == '?':
			return skipClosing(clean, i+1)
		// no script with end marks of its own: ASCII, Latin, Greek, Cyrillic, Han, Hangul
		case c < 0xd8 || c >= 0xe4 && c <= 0xed:
			i++
		default:
			r, size := utf8.DecodeRuneInString(clean[i:])
			i += size
			if unicode.Is(unicode.STerm, r) {
				return skipClosing(clean, i)
			}
		}
	}
	return len(clean)
}

// skipClosing returns the index after the end marks, quotation marks and brackets that stand at i.
func skipClosing(clean string, i int) int {
	for i < len(clean) {
		r, size := utf8.DecodeRuneInString(clean[i:])
		if !strings.ContainsRune(`.!?"'。`, r) && !unicode.In(r, unicode.Pe, unicode.Pf) {
			break
		}
		i += size
	}
	return i
}

// Sentences iterates over the sentences of a clean text. start and end say where a sentence stands in the text.
func Sentences(clean string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(clean); {
			if clean[i] == ' ' || clean[i] == '\n' {
				i++
				continue
			}
			n := CutSentence(clean[i:])
			if !yield(i, i+n) {
				return
			}
			i += n
		}
	}
}
