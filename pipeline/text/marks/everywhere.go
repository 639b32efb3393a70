// Package marks folds letters that writers, keyboards and programs write in several ways. Two lists say where.
//
// Everywhere folds where no word changes: the points of Arabic and Hebrew, which most writers leave out, and the forms of alef, yeh, kaf and
// taa, which depend on the keyboard. Texts that differ in nothing else are exact copies.
//
// AppendPlain folds where another word can result: accents of Latin and Greek, yo, nukta, dotless i. Fingerprint and signature see its
// result, the digest does not. So texts that differ in nothing else are near copies.
package marks

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The characters that Everywhere folds: Hebrew and Arabic.
const (
	FirstEverywhere = 0x591
	LastEverywhere  = 0x6ff
)

// arabicForms lists letters of which Unicode does not say that they are forms of one letter. The first letter of each string stands for
// the others.
var arabicForms = []string{
	"اٱ",    // alef wasla
	"يىیې",  // alef maksura, Persian yeh, Pashto yeh
	"كکڪ",   // Persian kaf, swash kaf
	"هةہۃە", // taa marbuta, goal heh, goal taa, ae
}

// everywhere is what each character from FirstEverywhere on is written as, 0 for nothing.
var everywhere = func() (table [LastEverywhere - FirstEverywhere + 1]rune) {
	for i := range table {
		table[i] = unmarked(FirstEverywhere+rune(i), 0)
	}
	for _, forms := range arabicForms {
		first, _ := utf8.DecodeRuneInString(forms)
		for _, r := range forms {
			table[r-FirstEverywhere] = first
		}
		for i, r := range table { // such as heh with yeh above, whose letter is one of the forms
			if r != first && r != 0 && table[r-FirstEverywhere] == first {
				table[i] = first
			}
		}
	}
	table[0x640-FirstEverywhere] = 0 // tatweel, which only makes a word wider
	return table
}()

// unmarked returns the letter that is left of r without the marks that Unicode decomposes it into, none if r is a mark, and r if it is no
// single letter with marks.
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

// Everywhere returns the character that stands for r, from FirstEverywhere to LastEverywhere, 0 for a mark that is left out.
func Everywhere(r rune) rune { return everywhere[r-FirstEverywhere] }
