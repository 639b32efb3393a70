package evidence

import (
	"unicode/utf8"
)

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

// isScale tells whether a word makes a number of the word before it: "one billion".
func isScale(word string) bool {
	switch word {
	case "hundred", "thousand", "million", "billion", "trillion":
		return true
	}
	return false
}

// chineseNumber reads the run of numerals at the beginning of s: its significant digits and its length in
// bytes. Both forms are read: 二〇二四, digit by digit, and 二千零二十四, with units. Both results are 0 if the run is
// no number, such as the numerals in 一些 and 十分.
func chineseNumber(s string) (value uint64, length int) {
	value, length, runes, units := numeralRun(s)
	switch runes {
	case 0:
		return 0, 0
	case 1:
		if next, _ := utf8.DecodeRuneInString(s[length:]); units || value < 2 || !isMeasure(next) {
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
		case unit == 0:
			if units {
				digit = uint64(d)
			} else {
				digit = digit*10 + uint64(d) // digit by digit, or the first of a number with units
			}
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

// isMeasure tells whether r is a measure word that comes after a count, an ordinal or a date, and hardly ever
// after a numeral that is part of another word.
func isMeasure(r rune) bool {
	switch r {
	case '次', '届', '年', '月', '日', '号', '期', '名', '位', '项', '条', '轮', '场', '起', '例', '倍', '季', '艘', '架', '辆', '座':
		return true
	}
	return false
}

// isNumeral tells whether a character from U+5000 to U+9FFF is a Chinese numeral.
func isNumeral(r rune) bool {
	bit := uint32(r - 0x5000)
	return numerals[bit/64]>>(bit%64)&1 != 0
}

// numerals has a bit for each character from U+5000 to U+9FFF.
var numerals = func() (table [0x5000 / 64]uint64) {
	for r := rune(0x5000); r < 0xa000; r++ {
		if digit, unit := chineseNumeral(r); digit >= 0 || unit > 0 {
			table[(r-0x5000)/64] |= 1 << (r % 64)
		}
	}
	return table
}()

// chineseNumeral returns the digit that r stands for, or -1 and the unit that r stands for. It returns -1 and
// 0 for all other characters.
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
