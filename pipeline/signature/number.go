package signature

import (
	"unicode"
	"unicode/utf8"

	"echosieve/simhash"
)

// numbers reads the numbers of a text one after the other, each with what stands before it. Time is linear in the
// length of the text, and nothing is allocated.
//
// Punctuation does not count, as in the normalised text by which exact copies are told: it neither ends a number nor
// parts what stands before it, so that texts which differ in punctuation only never contradict each other. Spaces count
// only where they end a word: "covid19" has no number, and "two" is one.
//
// A number is its significant digits: 1,200, 1200, 12 hundred and 0.12 are the same, because publishers write
// amounts in thousands, in ten thousands (Chinese) and in millions. Read are decimal digits, full width too, Chinese
// numerals of two characters and more, single ones only before a measure word, and the English words two to twelve.
// "one" and other single Chinese numerals are parts of too many other words.
type numbers struct {
	text string
	pos  int
	// before is what stands before pos, three Han characters or eight letters: their code points, shifted in.
	before uint64
	// context and value of the number that next has found.
	context, value uint64
}

// next advances to the next number and tells whether there is one.
func (n *numbers) next() bool {
	for n.pos < len(n.text) {
		r, size := rune(n.text[n.pos]), 1
		if r >= utf8.RuneSelf {
			r, size = decode(n.text[n.pos:])
		}
		switch {
		case r >= '0' && r <= '9':
			n.found(n.digits())
			return true
		case isHan(r):
			v, length := uint64(0), 0
			if d, unit := chineseNumeral(r); d >= 0 || unit > 0 {
				v, length = chineseNumber(n.text[n.pos:])
			}
			if length == 0 {
				n.before = n.before<<21 | uint64(r)
				length = size
			}
			n.pos += length
			if v != 0 {
				n.found(v)
				return true
			}
		case isLetter(r):
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

// found records a number. In the context of the next one it is a mark.
func (n *numbers) found(value uint64) {
	n.value, n.context = value, simhash.Mix(n.before)
	n.before = n.before<<8 | '#'
}

// word reads a word of letters other than Han and the digits within, such as "covid19".
func (n *numbers) word() string {
	start := n.pos
	for n.pos < len(n.text) {
		r, size := rune(n.text[n.pos]), 1
		if r >= utf8.RuneSelf {
			r, size = decode(n.text[n.pos:])
		}
		if r < utf8.RuneSelf {
			if !isLetter(r) && (r < '0' || r > '9') {
				break
			}
		} else if isHan(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) {
			break
		}
		n.before = n.before<<8 | uint64(r&0xff)
		n.pos += size
	}
	return n.text[start:n.pos]
}

// digits reads a number written with digits and returns its significant ones, 0 for zero. The result wraps beyond 19
// digits, alike in all copies.
func (n *numbers) digits() uint64 {
	value, zeros := uint64(0), 0
	for at := n.pos; ; {
		r, size := decode(n.text[at:])
		at += size
		switch {
		case r >= '1' && r <= '9':
			for ; zeros > 0 && value != 0; zeros-- {
				value *= 10
			}
			zeros = 0
			value = value*10 + uint64(r-'0')
			n.pos = at
		case r == '0':
			zeros++
			n.pos = at
		case size == 0 || isHan(r) || isLetter(r):
			n.pos = at - size
			n.skipScale()
			return value
		}
	}
}

// skipScale passes over the Chinese units after digits: 3万 is 30000 is 3.
func (n *numbers) skipScale() {
	for {
		r, size := decode(n.text[n.pos:])
		if r != '百' && r != '千' && r != '万' && r != '亿' {
			return
		}
		n.pos += size
	}
}

// isLetter is for characters other than Han.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r)
}

// decode returns the first character of s, full-width ASCII as ASCII; 0, 0 at the end.
func decode(s string) (r rune, size int) {
	if len(s) == 0 {
		return 0, 0
	}
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, size = utf8.DecodeRuneInString(s)
	if r >= 0xff01 && r <= 0xff5e {
		r -= 0xfee0
	}
	return r, size
}

// isHan leaves out 々 and the other marks that are not ideographs, but not 〇, a numeral.
func isHan(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0x20000 && r <= 0x3ffff || r == '〇'
}

// englishNumber returns the significant digits of the words two to twelve, 0 for any other word.
func englishNumber(word string) uint64 {
	switch word {
	case "two":
		return 2
	case "three":
		return 3
	case "four":
		return 4
	case "five":
		return 5
	case "six":
		return 6
	case "seven":
		return 7
	case "eight":
		return 8
	case "nine":
		return 9
	case "ten":
		return 1
	case "eleven":
		return 11
	case "twelve":
		return 12
	}
	return 0
}

// chineseNumber reads the run of numerals that s begins with: its length in bytes and its significant digits, or
// 0 digits if it is no number but one of the numerals that are part of a word, such as 一些 or 十分. Both forms are
// read: 二〇二四, digit by digit, and 二千零二十四, with units.
func chineseNumber(s string) (value uint64, length int) {
	var total, section, digit uint64
	runes, units := 0, false
	for length < len(s) {
		r, size := utf8.DecodeRuneInString(s[length:])
		d, unit := chineseNumeral(r)
		switch {
		case unit == 0 && d < 0:
			size = 0
		case unit == 0:
			if !units {
				digit *= 10 // digit by digit, or the first of a number with units
			}
			if units {
				digit = 0
			}
			digit += uint64(d)
		case unit < 10000:
			units = true
			section += max(digit, 1) * unit
			digit = 0
		default:
			units = true
			total = (total + section + digit) * unit
			section, digit = 0, 0
		}
		if size == 0 {
			break
		}
		runes++
		length += size
	}
	switch runes {
	case 0:
		return 0, 0
	case 1:
		if next, _ := utf8.DecodeRuneInString(s[length:]); units || digit < 2 || !isMeasure(next) {
			return 0, 0
		}
	}
	value = total + section + digit
	for value != 0 && value%10 == 0 {
		value /= 10
	}
	return value, length
}

// isMeasure tells the measure words that come after a count, an ordinal or a date and hardly ever after a numeral that
// belongs to another word.
func isMeasure(r rune) bool {
	switch r {
	case '次', '届', '年', '月', '日', '号', '期', '名', '位', '项', '条', '轮', '场', '起', '例', '倍', '季', '艘', '架', '辆', '座':
		return true
	}
	return false
}

// chineseNumeral returns the digit that a numeral is, -1 if it is none, or the unit.
func chineseNumeral(r rune) (digit int, unit uint64) {
	switch r {
	case '〇', '零':
		return 0, 0
	case '一':
		return 1, 0
	case '二', '两':
		return 2, 0
	case '三':
		return 3, 0
	case '四':
		return 4, 0
	case '五':
		return 5, 0
	case '六':
		return 6, 0
	case '七':
		return 7, 0
	case '八':
		return 8, 0
	case '九':
		return 9, 0
	case '十':
		return -1, 10
	case '百':
		return -1, 100
	case '千':
		return -1, 1000
	case '万':
		return -1, 10000
	case '亿':
		return -1, 100000000
	}
	return -1, 0
}
