package changes

import (
	"fmt"
	"regexp"
	"strings"

	"echosieve/pipeline/evidence"
	"echosieve/pipeline/text"
)

// figure is a number of a sentence. A word and digits are the same figure if their significant digits are.
type figure struct {
	spelled string
	digits  string // without separators; empty: it is a word, or has one, such as 3\u4e07
	value   uint64 // significant digits
}

// number matches a number with its separators, in clean text.
var number = regexp.MustCompile(`\d+(?:[.,:]\d+)*`)

// separators stand within numbers.
var separators = strings.NewReplacer(".", "", ",", "", ":", "")

// figuresOf returns the figures of some sentences.
func figuresOf(list []sentence) (figures []figure) {
	for i := range list {
		for value, spelled := range evidence.Numbers(text.Clean(list[i].text)) {
			digits := number.FindAllString(spelled, -1)
			if len(digits) == 0 || letters(number.ReplaceAllString(spelled, "")) > 0 {
				figures = append(figures, figure{spelled: strings.TrimSpace(spelled), value: value})
				continue
			}
			for _, d := range digits { // numbers with nothing but spaces between them
				f := figure{d, strings.TrimLeft(separators.Replace(d), "0"), value}
				if len(digits) > 1 {
					f.value = 0
				}
				figures = append(figures, f)
			}
		}
	}
	return figures
}

// mostFigures bounds a list of figures.
const mostFigures = 50

// missing returns the figures of sentences that the other text lacks, in their order, as they are spelled.
func missing(of, other []sentence) []string {
	there := map[string]bool{}
	for _, f := range figuresOf(other) {
		if f.digits == "" {
			there[fmt.Sprint("word ", f.value)] = true
		}
		there[f.digits], there[fmt.Sprint("any ", f.value)] = true, true
	}
	list := []string{}
	for _, f := range figuresOf(of) {
		key, word := f.digits, "word "
		if key == "" {
			key, word = f.spelled, "any "
		}
		if !there[key] && !there[fmt.Sprint(word, f.value)] && len(list) < mostFigures {
			there[key] = true
			list = append(list, f.spelled)
		}
	}
	return list
}
