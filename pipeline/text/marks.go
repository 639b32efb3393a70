package text

import (
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// This file folds letters that writers, keyboards and programs write in several ways. Two lists say where.
//
// everywhere folds where no word changes: the points of Arabic and Hebrew, which most writers leave out, and
// the forms of alef, yeh, kaf and taa, which depend on the keyboard. Texts that differ in nothing else are
// exact copies.
//
// AppendPlain folds where another word can result: accents of Latin and Greek, yo, nukta, dotless i.
// Fingerprint and signature see its result, the digest does not. So texts that differ in nothing else are
// near copies.

const (
	eachByte = 0x0101010101010101 // times a byte: that byte eight times
	nonASCII = 0x80 * eachByte    // the bits that are set in eight bytes that are no ASCII
)

// The characters that everywhere folds: Hebrew and Arabic.
const (
	firstEverywhere = 0x591
	lastEverywhere  = 0x6ff
)

// arabicForms lists letters of which Unicode does not say that they are forms of one letter. The first letter
// of each string stands for the others.
var arabicForms = []string{
	"اٱ",    // alef wasla
	"يىیې",  // alef maksura, Persian yeh, Pashto yeh
	"كکڪ",   // Persian kaf, swash kaf
	"هةہۃە", // taa marbuta, goal heh, goal taa, ae
}

// everywhere is what each character from firstEverywhere on is written as, 0 for nothing.
var everywhere = func() (table [lastEverywhere - firstEverywhere + 1]rune) {
	for i := range table {
		table[i] = unmarked(firstEverywhere+rune(i), 0)
	}
	for _, forms := range arabicForms {
		first, _ := utf8.DecodeRuneInString(forms)
		for _, r := range forms {
			table[r-firstEverywhere] = first
		}
		for i, r := range table { // such as heh with yeh above, whose letter is one of the forms
			if r != first && r != 0 && table[r-firstEverywhere] == first {
				table[i] = first
			}
		}
	}
	table[0x640-firstEverywhere] = 0 // tatweel, which only makes a word wider
	return table
}()

// unmarked returns the letter that is left of r without the marks that Unicode decomposes it into, none if r
// is a mark, and r if it is no single letter with marks.
func unmarked(r, none rune) rune {
	left := none
	for _, part := range string(norm.NFD.AppendString(nil, string(r))) {
		switch {
		case unicode.Is(unicode.Mn, part):
		case left != none:
			return r
		default:
			left = part
		}
	}
	return left
}

// lastPlain is the last character that plain covers. It covers Latin, Greek and Cyrillic.
const lastPlain = 0x1fff

// plain is what a character is written as: 0 for nothing, asTwo for two letters. Accents go by the decompositions of
// Unicode. Of Cyrillic letters, only those in alike lose their marks: short i is a letter of its own that nobody
// writes without its breve.
var plain = func() (table [lastPlain + 1]rune) {
	for r := range rune(len(table)) {
		table[r] = r
		if unicode.In(r, unicode.Latin, unicode.Greek) {
			table[r] = unmarked(r, r)
		}
	}
	for r := range rune(0x70) { // the combining accents, which stay behind letters with two accents
		table[0x300+r] = 0
	}
	for _, letters := range alike {
		first, _ := utf8.DecodeRuneInString(letters)
		for _, r := range letters {
			table[r] = first
		}
	}
	for _, nukta := range nuktas {
		table[nukta] = 0
	}
	for r := range spelled {
		table[r] = asTwo
	}
	return table
}()

// alike lists letters that are written for each other and have no decomposition. The first of each string
// stands for the others.
var alike = []string{
	// Latin; hooked letters are Hausa's, open ones African
	"dđðɖɗ", "hħ", "iı", "lł", "oø", "tŧ", "bɓ", "kƙ", "yƴ", "eəɛ", "oɔ", "nŋ",
	"еёѐ", "гґ", "иѝ", // Cyrillic
	"ंँ",             // anusvara and candrabindu
	"नऩ", "रऱ", "ळऴ", // Devanagari letters that have the nukta in one character
}

// nuktas are the dots below Indic letters that mark sounds of foreign words.
var nuktas = [...]rune{0x93c, 0x9bc, 0xa3c, 0xabc, 0xb3c, 0xcbc}

// spelled are letters written as two.
var spelled = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th"}

const asTwo = -1 // in plain: see spelled

// Plain returns a clean text as fingerprint and signature see it: letters without their accents. Example:
// "Żółty mur" becomes "zolty mur". buf may be overwritten.
func Plain(buf []byte, clean string) (text string, used []byte) {
	clean = fromSevenBit(clean)
	if isCopied(clean) { // most Chinese and English texts
		return clean, buf
	}
	buf = AppendPlain(slices.Grow(buf[:0], len(clean)), clean)
	return string(buf), buf
}

// sevenBit lists frequent words of languages that wires and old programs also write in ASCII, and what is then written
// for which letters. Two such words in a text without a letter beyond ASCII say that it is written so.
var sevenBit = []struct {
	signs   []string // of which each such text has one; found in a tenth of the time of the words
	words   *regexp.Regexp
	letters *strings.Replacer
}{
	{[]string{"fuer", "ueber"},
		regexp.MustCompile(`\b(fuer|ueber|koenn|muess|wuerd|waehrend|haett|waere|fuenf|naechst|spaeter|zurueck|groess)`),
		strings.NewReplacer("aue", "aue", "eue", "eue", "que", "que", "ae", "a", "oe", "o", "ue", "u")},
	{[]string{"paa"}, regexp.MustCompile(`\b(paa|naar|ogsaa|foer|goer|stoerre|foerste|maaned|saa|aar)\b`),
		strings.NewReplacer("aa", "a", "oe", "o")},
}

// sevenBitBegin is the length of the beginning of a text, in bytes, in which the words are looked for.
const sevenBitBegin = 2 << 10

// fromSevenBit returns a clean text with the letters that it writes in ASCII as AppendPlain folds the usual ones.
func fromSevenBit(clean string) string {
	for _, language := range sevenBit {
		begin := clean[:min(len(clean), sevenBitBegin)]
		has := func(sign string) bool { return strings.Contains(begin, sign) }
		wide := func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }
		// Spanish texts have "fuera": a letter beyond ASCII is found sooner than the words.
		if slices.ContainsFunc(language.signs, has) && !strings.ContainsFunc(clean, wide) &&
			len(language.words.FindAllStringIndex(begin, 2)) == 2 {
			return language.letters.Replace(clean)
		}
	}
	return clean
}

// copied says which bytes AppendPlain copies: all but C3 to E1, which begin the characters that
// plain covers. All greater ones begin characters of three bytes or more.
var copied = func() (table [256]bool) {
	for c := range table {
		table[c] = c < 0xc3 || c > 0xe1
	}
	return table
}()

// isCopied tells whether AppendPlain copies a whole text. It reads eight bytes at a time, as wordLength does.
func isCopied(clean string) bool {
	for ; len(clean) >= 8; clean = clean[8:] {
		eight := binary.LittleEndian.Uint64([]byte(clean[:8]))
		low := eight &^ nonASCII
		if eight&(low+(0x80-0x43)*eachByte)&^(low+(0x80-0x62)*eachByte)&nonASCII != 0 { // C3 to E1
			return false
		}
	}
	for i := range len(clean) {
		if !copied[clean[i]] {
			return false
		}
	}
	return true
}

// AppendPlain appends a clean text to dst as Plain returns it.
func AppendPlain(dst []byte, clean string) []byte {
	start := 0 // of what stays as it is and is not appended yet
	for i := 0; i < len(clean); {
		if copied[clean[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(clean[i:])
		p := utf8.RuneError // for bytes that are no UTF-8
		if r <= lastPlain {
			if p = plain[r]; p == r {
				i += size
				continue
			}
		}
		dst = append(dst, clean[start:i]...)
		i += size
		start = i
		switch p {
		case 0:
		case asTwo:
			dst = append(dst, spelled[r]...)
		default:
			dst = utf8.AppendRune(dst, p)
		}
	}
	return append(dst, clean[start:]...)
}
