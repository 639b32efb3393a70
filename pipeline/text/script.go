package text

import (
	"math/bits"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// jieba knows Chinese and cuts ASCII words. It would make a word of every single letter of another script, so
// it gets Chinese and ASCII only, and segment.go cuts the other scripts: by the rules of Unicode (UAX 29)
// where words have spaces between them; into pairs of characters in kana, Thai, Lao, Khmer, Burmese and
// Tibetan, which have no spaces.

// The characters that simplified covers: Han characters of the basic plane that NFKC leaves alone.
const (
	firstHan = 0x3400
	lastHan  = 0x9fff
)

// beginsHan tells whether a byte begins one of U+4000 to U+9FFF: the most frequent Han characters, found without a
// call.
func beginsHan(c byte) bool { return c >= 0xe4 && c <= 0xe9 }

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
	case r == utf8.RuneError, isUsualPunctuation(r), !unicode.IsLetter(r) && !unicode.IsMark(r), unicode.Is(unicode.Han, r),
		r == 0x30fb:
		return cutByJieba, size
	case r >= 0x3041 && r <= 0x30ff, r >= 0xe00 && r <= 0xfff, r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x17ff:
		return cutInPairs, size
	}
	return cutAtSpaces, size
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
	case r < 0xaa || r == utf8.RuneError || isUsualPunctuation(r):
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

func isASCIIPunctuation(c byte) bool {
	return c < utf8.RuneSelf && classOf(rune(c)) == classPunctuation
}

type class uint8

const (
	classPunctuation class = iota // punctuation, symbols, everything else
	classSpace                    // white space
	classDigit                    // decimal digits
	classWord                     // letters, other numbers and the marks that combine with them
)

// classOf returns the class of a character of a clean text.
func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z' || r >= firstHan && r <= lastHan && r < 0x4dc0 || r >= 0x4e00 && r <= lastHan:
		return classWord
	case r >= '0' && r <= '9':
		return classDigit
	case isUsualPunctuation(r):
		return classPunctuation
	case r < utf8.RuneSelf:
		if r == ' ' || r == '\n' {
			return classSpace
		}
		return classPunctuation
	case r == utf8.RuneError:
		return classPunctuation
	case unicode.Is(wordCharacters, r):
		if unicode.IsDigit(r) {
			return classDigit
		}
		return classWord
	case unicode.IsSpace(r):
		return classSpace
	}
	return classPunctuation
}

// wordCharacters are found in one search of a table; most of them are letters.
var wordCharacters = rangetable.Merge(unicode.L, unicode.N, unicode.M)

// isUsualPunctuation tells whether r is among the most frequent punctuation beyond ASCII, without a look-up in the
// tables of Unicode.
func isUsualPunctuation(r rune) bool {
	return r >= 0x2010 && r <= 0x2027 || r >= 0x3001 && r <= 0x3004 || r >= 0x3008 && r <= 0x3011
}

func startsWithDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return classOf(r) == classDigit
}
