package recipe

import (
	"unicode/utf8"

	"echosieve/pipeline/dict"
)

// The characters that simplified covers: Han characters of the basic plane that NFKC leaves alone.
const (
	firstHan = 0x3400
	lastHan  = 0x9fff
)

// asciiFold maps ASCII characters to lower case, white space to ' ' or '\n', and other control characters to 0.
var asciiFold = func() (table [utf8.RuneSelf]byte) {
	for c := byte(' '); c < 0x7f; c++ {
		table[c] = c
	}
	for c := byte('A'); c <= 'Z'; c++ {
		table[c] = c + 'a' - 'A'
	}
	table['\t'], table['\n'], table['\v'], table['\f'], table['\r'] = ' ', '\n', '\n', '\n', '\n'
	return table
}()

// simplified maps Han characters of the basic plane, simplifiedRare the others.
var simplified, simplifiedRare = loadSimplified()

func loadSimplified() (table [lastHan - firstHan + 1]rune, rare map[rune]rune) {
	for i := range table {
		table[i] = firstHan + rune(i)
	}
	data, err := dict.Read(dict.TSCharacters)
	if err != nil {
		panic(err) // embedded in the program: cannot fail in one run and not in another
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
