// Package text turns a text in any language into clean text, and clean text into weighed words. It is pure:
// the same text gives the same result on every machine.
//
//   - Clean removes markup (markup.go), reads escapes and mojibake (escape.go), and folds what writers
//     write in several ways: Unicode forms, case, scripts (clean.go), marks such as accents (marks.go).
//   - AppendNormalised makes of a clean text what the digest covers.
//   - Segmenter cuts a clean text into words, in all scripts (script.go, segment.go).
//   - Counter counts and weighs the words (words.go), by tables of frequencies and by function words (terms.go).
//     Misread words count as the words that they look like (shape.go).
package text

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/dict"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// Clean brings a text into the form that its copies share. It removes markup (see Readable) and invisible
// characters, reads escapes and mojibake (escape.go), brings Unicode into form NFKC (full width becomes
// ASCII, among others) and letters into lower case, and replaces Traditional by Simplified Chinese characters. A run of
// white space becomes one line end if it has one, otherwise one space.
//
// The result is valid UTF-8 without NUL and other control characters; invalid bytes become U+FFFD. Cleaning
// the result again changes nothing, unless markup or another escape is left in it that was escaped too often, or
// mojibake. Time and memory are linear in the length of the text. Safe for concurrent use.
func Clean(text string) string {
	clean, _ := AppendClean(make([]byte, 0, len(text)), text)
	return string(clean)
}

// AppendClean appends the clean form of a text to dst. A text is too costly if the clean one would be twice as
// long: Unicode has characters that stand for whole words, of which NFKC makes up to 18. Then they stay as they are.
func AppendClean(dst []byte, text string) (clean []byte, costly bool) {
	start := len(dst)
	var spelled spelling
	dst = fold(dst, undoMojibake(stripShortcodes(Readable(stripWiki(unquote(unescape(text)))))), &spelled)
	// NFKC can produce characters that fold replaces (U+2103 becomes "°C"), so the text is folded again. This
	// is rare, because fold maps the usual compatibility characters itself.
	if spelled.any && !norm.NFKC.IsNormal(dst[start:]) {
		if len(dst)-start+spelled.longer > 2*len(text)+1<<10 {
			return dst, true
		}
		dst = fold(dst[:start], string(norm.NFKC.Bytes(dst[start:])), nil)
	}
	return dst, false
}

// spelling says whether NFKC may spell out characters of a text, and by how many bytes it gets longer then, at most.
type spelling struct {
	any    bool
	longer int
}

// fold appends s to dst in lower case and Simplified Chinese, with white space collapsed and trimmed, without
// invisible characters. It adds to spelled what NFKC may make of the result, unless that is nil.
func fold(dst []byte, s string, spelled *spelling) []byte {
	start := len(dst)
	space := byte(0) // the white space to be written before the next character; 0 for none
	for i := 0; i < len(s); {
		c := rune(s[i])
		switch {
		case c < utf8.RuneSelf:
			if space == 0 && len(dst) > start {
				if longer, n := appendASCII(dst, s[i:]); n > 0 {
					dst, i = longer, i+n
					continue
				}
			}
			i++
			c = rune(asciiFold[c])
		case beginsHan(s[i]) && i+2 < len(s) && s[i+1]>>6 == 2 && s[i+2]>>6 == 2:
			r := c&0xf<<12 | rune(s[i+1]&0x3f)<<6 | rune(s[i+2]&0x3f)
			i += 3
			if space == 0 && !isTraditional(r) {
				dst = append(dst, s[i-3], s[i-2], s[i-1])
				continue
			}
			c = simplified[r-firstHan]
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size
			c = foldWide(r, spelled)
		}
		switch c {
		case 0:
		case '\n':
			space = '\n'
		case ' ':
			if space == 0 {
				space = ' '
			}
		default:
			if len(dst) > start && (space == '\n' || space == ' ' && (!joins(c) || !joinsEnd(dst[start:]))) {
				dst = append(dst, space)
			}
			space = 0
			switch {
			case c < utf8.RuneSelf:
				dst = append(dst, byte(c))
			case c == ellipsis:
				dst = append(dst, "..."...)
			default:
				dst = utf8.AppendRune(dst, c)
			}
		}
	}
	return dst
}

// joins says whether a blank between two such characters, Han or kana, separates no words: those who scan texts and read
// PDF files leave blanks there, and both scripts write none.
func joins(r rune) bool {
	return r >= 0x3005 && r <= 0x3007 || r >= 0x3041 && r <= 0x30ff || r >= firstHan && r <= lastHan
}

// joinsEnd says whether a text ends with such a character.
func joinsEnd(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return joins(r)
}

// appendASCII appends the ASCII text at the beginning of s as fold does, up to white space that is more than
// one space, and returns its length. The character before s is no white space. All of its few branches are
// predictable; most of an English text is read here.
func appendASCII(dst []byte, s string) (out []byte, length int) {
	before := uint8(0) // kind of the character before
	for length < len(s) {
		kind := asciiKind[s[length]]
		if kind+before > oneSpace {
			break
		}
		dst = append(dst, asciiFold[s[length]&0x7f])
		before = kind
		length++
	}
	n := int(before) // a space at the end is not written before the next character is known
	return dst[:len(dst)-n], length - n
}

// ellipsis is by far the most frequent character that NFKC spells out.
const ellipsis = 0x2026

// foldWide folds one character beyond ASCII. It returns 0 for a character that is left out.
func foldWide(r rune, spelled *spelling) rune {
	switch {
	case r >= firstHan && r <= lastHan:
		return simplified[r-firstHan]
	case r >= 0xff01 && r <= 0xff5e: // full width ASCII
		return rune(asciiFold[r-0xfee0])
	// punctuation that stays, or that fold spells out
	case r >= 0x3001 && r <= 0x3011 || r >= 0x2012 && r <= 0x2023 && r != 0x2017 || r == ellipsis:
		return r
	}
	c := foldRare(r)
	if spelled != nil && c >= utf8.RuneSelf {
		spelled.add(c)
	}
	return c
}

// foldRare folds one character that is neither ASCII nor common in Chinese text. It returns 0 for a character
// that is left out.
func foldRare(r rune) rune {
	switch {
	case r == 0x85 || r == 0x2028 || r == 0x2029: // line ends
		return '\n'
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(invisible, r):
		return 0
	case r == 0x3a3 || r == 0x3c2: // sigma, whose small form depends on its place
		return 0x3c3
	case unicode.Is(unicode.Nd, r):
		return digits[r]
	case r >= firstEverywhere && r <= lastEverywhere:
		return everywhere[r-firstEverywhere]
	}
	if s, ok := simplifiedRare[r]; ok {
		return s
	}
	return unicode.ToLower(r)
}

var invisible = rangetable.Merge(unicode.Cc, unicode.Cf, unicode.Variation_Selector,
	unicode.Other_Default_Ignorable_Code_Point)

// digits are the ASCII digits with the values of the decimal digits of all scripts. Each range of Unicode's table begins
// with a zero and has the digits in order, ten or a multiple of ten of them.
var digits = func() map[rune]rune {
	table := map[rune]rune{}
	rangetable.Visit(unicode.Nd, func(r rune) { table[r] = '0' + rune(len(table)%10) })
	return table
}()

// add adds a character, unless it is in form NFKC whatever its neighbours are.
func (s *spelling) add(r rune) {
	var buf [utf8.UTFMax]byte
	p := norm.NFKC.Properties(utf8.AppendRune(buf[:0], r))
	if out := p.Decomposition(); out != nil {
		s.any = true
		s.longer += len(out) - p.Size()
	} else if !p.BoundaryBefore() {
		s.any = true
	}
}

// asciiFold maps ASCII characters to lower case, white space to ' ' or '\n', and other control characters to 0.
var asciiFold = func() (table [utf8.RuneSelf]byte) {
	for c := ' '; c < 0x7f; c++ {
		table[c] = byte(unicode.ToLower(c))
	}
	table['\t'], table['\n'], table['\v'], table['\f'], table['\r'] = ' ', '\n', '\n', '\n', '\n'
	return table
}()

// asciiKind is 0 for visible ASCII characters, oneSpace for those that fold to a space, more for all other bytes.
var asciiKind = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf || asciiFold[c] < ' ':
			table[c] = oneSpace + 1
		case asciiFold[c] == ' ':
			table[c] = oneSpace
		}
	}
	return table
}()

const oneSpace = 1

// isTraditional tells whether simplified changes a Han character of the basic plane. The bits stay in the
// processor's cache, simplified does not.
func isTraditional(r rune) bool {
	bit := uint32(r - firstHan)
	return traditional[bit/64]>>(bit%64)&1 != 0
}

var traditional = func() (bits [(lastHan - firstHan + 64) / 64]uint64) {
	for i, r := range simplified {
		if r != firstHan+rune(i) {
			bits[i/64] |= 1 << (i % 64)
		}
	}
	return bits
}()

// simplified maps Han characters of the basic plane, simplifiedRare the others.
var simplified, simplifiedRare = loadSimplified()

func loadSimplified() (table [lastHan - firstHan + 1]rune, rare map[rune]rune) {
	for i := range table {
		table[i] = firstHan + rune(i)
	}
	data, err := dict.Read(dict.TSCharacters)
	if err != nil {
		panic(err) // the dictionary is embedded: a program that can fail here fails in every run
	}
	rare = map[rune]rune{}
	for len(data) > 0 {
		from, n := utf8.DecodeRune(data)
		to, m := utf8.DecodeRune(data[n:])
		data = data[n+m+1:]
		if from >= firstHan && from <= lastHan {
			table[from-firstHan] = to
		} else {
			rare[from] = to
		}
	}
	return table, rare
}

// AppendNormalised appends to dst the normalised form of a clean text, whose SHA-256 is the digest. White
// space, punctuation and symbols are left out, so that two texts which differ in nothing else are exact
// copies. They stay where leaving them out could change a number: a punctuation mark or symbol next to a
// digit (3.5 is not 35, and -5 is not 5%), and one space between two digits.
func AppendNormalised(dst []byte, clean string) []byte {
	dst = slices.Grow(dst, len(clean))
	out, n := dst[len(dst):len(dst)+len(clean)], 0 // the normalised form is never longer
	afterDigit, spaced := false, false             // the last character was a digit; it was white space after a digit
	for i := 0; i < len(clean); {
		if !afterDigit && !spaced {
			// Most of any text. A byte that is left out is written over by the next one: a branch would be
			// mispredicted at each end of a word.
			start := i
			for i < len(clean) {
				c := clean[i]
				// begins U+4E00 to U+9FFF
				if beginsHan(c) && i+2 < len(clean) && (c > 0xe4 || clean[i+1] >= 0xb8) {
					out[n], out[n+1], out[n+2] = c, clean[i+1], clean[i+2]
					i, n = i+3, n+3
					continue
				}
				if keptASCII[c] > 1 {
					break
				}
				out[n] = c
				n += int(keptASCII[c])
				i++
			}
			if i > start && isASCIIPunctuation(clean[i-1]) && startsWithDigit(clean[i:]) {
				out[n] = clean[i-1]
				n++
			}
			if i == len(clean) {
				break
			}
		}
		r, size := utf8.DecodeRuneInString(clean[i:])
		next := i + size
		class := classOf(r)
		if class == classDigit && spaced {
			out[n] = ' '
			n++
		}
		if class == classDigit || class == classWord || class == classPunctuation &&
			(afterDigit || startsWithDigit(clean[next:])) {
			n += copy(out[n:], clean[i:next])
		}
		spaced = class == classSpace && (spaced || afterDigit)
		afterDigit = class == classDigit
		i = next
	}
	return dst[:len(dst)+n]
}

// keptASCII says, by ASCII character, how many bytes the normalised form keeps of it where no digit is near:
// 1 of a letter, 0 of white space and marks. Digits, and the first bytes of all other characters, have 2.
var keptASCII = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf || classOf(rune(c)) == classDigit:
			table[c] = 2
		case classOf(rune(c)) == classWord:
			table[c] = 1
		}
	}
	return table
}()
