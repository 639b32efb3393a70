package evidence

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// AddNumbers reads the numbers of the article's clean text, once for each article, in time linear in its length. head
// is how long the lines above the article are, in bytes: their numbers number the version.
//
// All reports on one form have its years and telephone numbers in common. So these constants are no evidence of a copy.
// A year that differs in the same context is evidence against a copy, a telephone number is not: it tells who published
// the text, and one misread digit must not outweigh equal words.
func (b *Builder) AddNumbers(clean string, head int) {
	for n := (numbers{text: clean}); len(b.facts) < maxNumbers && n.next(); {
		if !n.phone {
			b.add(&n, head)
		}
	}
}

func (f *figures) add(n *numbers, head int) {
	value := simhash.Mix(n.value + 1)
	bit := uint64(1) << ((value >> 32) % bodyBits)
	facts := &f.facts
	if n.at < max(limits.HeadBytes, head) {
		bit = 1 << (bodyBits + (value>>32)%(bitmapBits-bodyBits))
		facts = &f.heads
	}
	if !isYear(n.value) {
		f.bitmap |= bit
	}
	*facts = append(*facts, newFact(n.context, len(*facts), value))
	if n.value >= 10 && n.at >= head {
		f.values.add(value)
	}
}

// Numbers iterates over the numbers of a clean text: the significant digits of each, and how it is spelled there.
func Numbers(clean string) iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for n := (numbers{text: clean}); n.next(); {
			if !yield(n.value, clean[n.at:n.pos]) {
				return
			}
		}
	}
}

// numbers reads the numbers of a text one after the other, each with the characters before it as its context.
// Time is linear in the length of the text, and nothing is allocated.
//
// Punctuation does not count, as in the normalised text that exact copies share: it neither ends a number nor
// separates the characters before it. Otherwise two exact copies, which may differ in punctuation, could
// contradict each other. Spaces count only where they end a word: "covid19" has no number, and "two" is a
// number. Digits go on across spaces, because a copy that lost its punctuation has "3 5" for 3.5.
//
// A number is its significant digits: 1,200, 1200, 12 hundred and 0.12 are the same, because publishers write
// amounts in thousands, in ten thousands (Chinese) and in millions. Numbers are ASCII digits, Chinese
// numerals of two characters and more, single Chinese numerals before a measure word, the English words two to twelve.
// "one" and other single Chinese numerals are parts of too many other words.
type numbers struct {
	text string
	pos  int
	// before holds the code points of the characters before pos: the last three Han characters or eight letters.
	before uint64
	// context and value belong to the number that next has found.
	context, value uint64
	// phone tells that the number that next has found has as many digits as a telephone number: 10 or 11.
	phone bool
	// at is where the number that next has found begins.
	at int
}

// next advances to the next number and tells whether there is one.
func (n *numbers) next() bool {
	for n.pass(); n.pos < len(n.text); n.pass() {
		n.at = n.pos
		r, size := utf8.DecodeRuneInString(n.text[n.pos:])
		switch {
		case r >= '0' && r <= '9':
			value, digits := n.digits()
			n.found(value)
			n.phone = digits == limits.PhoneDigits || digits == limits.PhoneDigits+1
			return true
		case isHan(r):
			v, length := chineseNumber(n.text[n.pos:])
			if length == 0 {
				n.before = n.before<<21 | uint64(r)
				length = size
			}
			n.pos += length
			if v != 0 {
				n.found(v)
				return true
			}
		case r < utf8.RuneSelf && isPlain[r] || r >= utf8.RuneSelf && unicode.IsLetter(r):
			start := n.before
			word := n.word()
			if v := englishNumber(word); v != 0 {
				n.before = start
				n.found(v)
				return true
			}
		default:
			n.pos += size
		}
	}
	return false
}

// pass advances over characters that begin neither a number nor a word of letters: punctuation, and Han
// characters that are no numerals, most of any Chinese text.
func (n *numbers) pass() {
	text, pos, before := n.text, n.pos, n.before
	for pos < len(text) {
		c := text[pos]
		if c < utf8.RuneSelf && !isPlain[c] {
			pos++
			continue
		}
		if c < 0xe2 || c > 0xe9 || pos+2 >= len(text) {
			break
		}
		r := rune(c&0xf)<<12 | rune(text[pos+1]&0x3f)<<6 | rune(text[pos+2]&0x3f)
		if r >= firstUnified && !isNumeral(r) {
			before = before<<21 | uint64(r)
		} else if (r < 0x2010 || r > 0x2027) && (r < 0x3001 || r > 0x3003) { // not the usual punctuation
			break
		}
		pos += 3
	}
	n.pos, n.before = pos, before
}

// found records a number. In the context of the next number it stands as '#', whatever its value.
func (n *numbers) found(value uint64) {
	n.value, n.context, n.phone = value, simhash.Mix(n.before), false
	n.before = n.before<<8 | '#'
}

// isPlain says, by byte, whether it is an ASCII letter or digit of a clean text.
var isPlain = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
	}
	return table
}()

// word reads a word of letters other than Han and the digits within, such as "covid19".
func (n *numbers) word() string {
	text, pos, before := n.text, n.pos, n.before
	for {
		for pos < len(text) && isPlain[text[pos]] {
			before = before<<8 | uint64(text[pos])
			pos++
		}
		if pos == len(text) || text[pos] < utf8.RuneSelf {
			break
		}
		r, size := utf8.DecodeRuneInString(text[pos:])
		if isHan(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) {
			break
		}
		before = before<<8 | uint64(r&0xff)
		pos += size
	}
	word := text[n.pos:pos]
	n.pos, n.before = pos, before
	return word
}

// digits reads a number written with digits and returns its significant digits, 0 for zero, and the number of
// all its digits. Beyond 19 digits the value overflows, in the same way in all copies.
func (n *numbers) digits() (value uint64, digits int) {
	zeros := 0
	for at := n.pos; ; {
		r, size := utf8.DecodeRuneInString(n.text[at:])
		at += size
		switch {
		case r >= '1' && r <= '9':
			for ; zeros > 0 && value != 0; zeros-- {
				value *= 10
			}
			zeros = 0
			value = value*10 + uint64(r-'0')
			digits++
			n.pos = at
		case r == '0':
			zeros++
			digits++
			n.pos = at
		case size == 0 || isHan(r) || unicode.IsLetter(r):
			n.pos = at - size
			n.skipScale()
			return value, digits
		}
	}
}

// skipScale skips the Chinese units after digits: 3万 is 30000, whose only significant digit is 3.
func (n *numbers) skipScale() {
	for {
		r, size := utf8.DecodeRuneInString(n.text[n.pos:])
		if r != '百' && r != '千' && r != '万' && r != '亿' {
			return
		}
		n.pos += size
	}
}

// isYear tells whether a number is a year, by its significant digits. Years that end in 0 are not recognised,
// because 2010 and 201 have the same significant digits.
func isYear(value uint64) bool { return value >= limits.FirstYear && value <= limits.LastYear }

// isHan tells whether r is a Han ideograph or the numeral 〇. Marks such as 々 do not count.
func isHan(r rune) bool {
	return r >= firstUnified && r <= lastUnified || r >= 0x3400 && r <= 0x4dbf || r >= 0x20000 && r <= 0x3ffff || r == '〇'
}

// newFact packs a number with its context into a fact: 32 bits of hashed context, 16 bits of rank among the
// numbers of the text, 16 bits of hashed value. In a sorted list, facts of one context lie together in the
// order of the text.
func newFact(context uint64, rank int, value uint64) uint64 {
	return simhash.Mix(context)&^0xffffffff | uint64(rank)<<16 | value>>16&0xffff
}

// sketch samples the facts into slots. Each slot gets the fact whose context has the least hash, so that
// similar texts sample the same contexts. It sorts and changes the list.
//
// Contexts with one value come first. Where the same words introduce several values ("from 3 to 5, from 7 to
// 9"), the facts are told apart by their rank in the text, which one inserted number shifts. Such facts only
// fill the slots that are left empty.
func sketch(raw *[Size]byte, facts []uint64, first, slots int) {
	slices.Sort(facts)
	ambiguous := facts[:0]
	for i := 0; i < len(facts); {
		end, same := i+1, true
		for end < len(facts) && facts[end]>>32 == facts[i]>>32 {
			same = same && uint16(facts[end]) == uint16(facts[i])
			end++
		}
		if same {
			put(raw, facts[i], first, slots)
			i = end
			continue
		}
		context := facts[i] >> 32
		for rank := uint64(1); i < end; i++ {
			ambiguous = append(ambiguous, simhash.Mix(context+rank<<32)&^0xffffffff|facts[i]&0xffff)
			rank++
		}
	}
	slices.Sort(ambiguous)
	for _, f := range ambiguous {
		put(raw, f, first, slots)
	}
}

func put(raw *[Size]byte, fact uint64, first, slots int) {
	slot := first + int((fact>>32)%uint64(slots))
	if raw[contextAt+slot] != 0 {
		return
	}
	raw[contextAt+slot] = byte(1 + (fact>>36&0xffff)%255)
	raw[valueAt+slot/2] |= byte(fact&15) << (slot % 2 * 4)
}

// englishNumbers are the numbers that are words.
var englishNumbers = []string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
	"twelve"}

// beginsNumber has a bit for each letter that begins one of them.
const beginsNumber = uint64(1<<('e'-'a') | 1<<('f'-'a') | 1<<('n'-'a') | 1<<('s'-'a') | 1<<('t'-'a'))

// englishNumber returns the significant digits of an English number, 0 for any other word.
func englishNumber(word string) uint64 {
	if len(word) < len("two") || len(word) > len("twelve") || beginsNumber>>(word[0]-'a')&1 == 0 {
		return 0
	}
	if i := slices.Index(englishNumbers, word); i >= 0 {
		return significant(uint64(i) + 2)
	}
	return 0
}

// chineseNumber reads the run of numerals at the beginning of s: its significant digits and its length in
// bytes. Both forms are read: 二〇二四, digit by digit, and 二千零二十四, with units. Both results are 0 if
// the run is no number, such as the numerals in 一些 and 十分.
func chineseNumber(s string) (value uint64, length int) {
	value, length, runes, units := numeralRun(s)
	switch runes {
	case 0:
		return 0, 0
	case 1:
		if next, _ := utf8.DecodeRuneInString(s[length:]); units || value < 2 || !strings.ContainsRune(measures, next) {
			return 0, 0
		}
	}
	return significant(value), length
}

// significant cuts off the zeros at the end.
func significant(value uint64) uint64 {
	for value != 0 && value%10 == 0 {
		value /= 10
	}
	return value
}

// numeralRun reads numerals as far as they go: their value, their length in bytes and in characters, and
// whether there is a unit.
func numeralRun(s string) (value uint64, length, runes int, units bool) {
	var total, section, digit uint64
	for length < len(s) {
		r, size := utf8.DecodeRuneInString(s[length:])
		d, unit := chineseNumeral(r)
		switch {
		case unit == 0 && d < 0:
			return total + section + digit, length, runes, units
		case units && unit == 0:
			digit = uint64(d)
		case unit == 0:
			digit = digit*10 + uint64(d) // digit by digit, or the first of a number with units
		case unit < 10000:
			units = true
			section += max(digit, 1) * unit
			digit = 0
		default:
			units = true
			total = (total + section + digit) * unit
			section, digit = 0, 0
		}
		runes++
		length += size
	}
	return total + section + digit, length, runes, units
}

// measures are the measure words that come after a count, an ordinal or a date, and hardly ever after a numeral that
// is part of another word.
const measures = "次届年月日号期名位项条轮场起例倍季艘架辆座"

// The block of Unicode's unified ideographs. All Chinese numerals but 〇 are in it, and numerals has a bit of each
// character.
const (
	firstUnified = 0x4e00
	lastUnified  = 0x9fff
)

// isNumeral tells whether a character from firstUnified to lastUnified is a Chinese numeral.
func isNumeral(r rune) bool {
	bit := uint32(r - firstUnified)
	return numerals[bit/64]>>(bit%64)&1 != 0
}

var numerals = func() (table [(lastUnified - firstUnified + 1) / 64]uint64) {
	for r := rune(firstUnified); r <= lastUnified; r++ {
		if digit, unit := chineseNumeral(r); digit >= 0 || unit > 0 {
			table[(r-firstUnified)/64] |= 1 << (r % 64)
		}
	}
	return table
}()

var (
	chineseDigits = []rune("〇一二三四五六七八九")
	chineseUnits  = map[rune]uint64{'十': 10, '百': 100, '千': 1000, '万': 10000, '亿': 100000000}
)

// chineseNumeral returns the digit that r stands for, or -1 and the unit that r stands for. It returns -1 and
// 0 for all other characters.
func chineseNumeral(r rune) (digit int, unit uint64) {
	switch r {
	case '零':
		return 0, 0
	case '两':
		return 2, 0
	}
	return slices.Index(chineseDigits, r), chineseUnits[r]
}
