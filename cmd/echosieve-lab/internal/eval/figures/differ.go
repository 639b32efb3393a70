package figures

import "unicode"

// Piece is a part of a text for showing two texts side by side.
type Piece struct {
	Text    string `json:"text"`
	Differs bool   `json:"differs"` // not in the other text
	Cut     bool   `json:"cut"`     // stands for a part that was left out
}

const (
	passage     = 6   // letters and digits in a row that count as the same passage
	contextLen  = 40  // characters shown around a difference
	openingLen  = 80  // characters shown of the opening in any case
	maxSideLen  = 700 // characters shown of a text
	maxDiffText = 1 << 16
)

// leftOut stands for what is not shown.
const leftOut = " ... "

// Differ marks in each of two texts what the other does not have, wherever it stands there, and leaves out long
// passages that both have, so that the differences can be seen at a glance. Only letters and digits count, as in the
// normalised text: other spaces or punctuation are no difference. Time and memory are linear in the texts' length,
// of which no more than the beginning is compared.
func Differ(a, b string) (left, right []Piece) {
	ra, rb := firstRunes(a), firstRunes(b)
	return pieces(ra, shared(ra, rb)), pieces(rb, shared(rb, ra))
}

func firstRunes(s string) []rune {
	runes := []rune(s)
	return runes[:min(len(runes), maxDiffText)]
}

// counting returns the characters that count, and their places.
func counting(text []rune) (chars []rune, places []int) {
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			chars, places = append(chars, r), append(places, i)
		}
	}
	return chars, places
}

// shared tells for each character of text whether it lies in a passage that other has as well. A character that does
// not count is shared unless it stands between two that are not.
func shared(text, other []rune) []bool {
	theirs, _ := counting(other)
	chars, places := counting(text)
	known := make(map[[passage]rune]bool, len(theirs))
	for i := 0; i+passage <= len(theirs); i++ {
		known[[passage]rune(theirs[i:])] = true
	}
	same := make([]bool, len(chars))
	for i := 0; i+passage <= len(chars); i++ {
		if known[[passage]rune(chars[i:])] {
			for j := range passage {
				same[i+j] = true
			}
		}
	}
	out := make([]bool, len(text))
	before, at := true, 0 // is the last character that counts shared, and which is the next
	for i := range text {
		if at < len(places) && places[at] == i {
			out[i], before = same[at], same[at]
			at++
			continue
		}
		out[i] = before || at == len(places) || same[at]
	}
	return out
}

// pieces cuts a text where it begins or ceases to be shared, and leaves out what lies far from any difference.
func pieces(text []rune, same []bool) []Piece {
	shown := nearDifferences(same)
	var out []Piece
	cut := func() {
		if len(out) == 0 || !out[len(out)-1].Cut {
			out = append(out, Piece{Text: leftOut, Cut: true})
		}
	}
	length := 0
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && same[end] == same[i] && shown[end] == shown[i] {
			end++
		}
		if stop := min(end, i+maxSideLen-length); shown[i] && stop > i {
			out = append(out, Piece{Text: string(text[i:stop]), Differs: !same[i]})
			length += stop - i
			if stop < end {
				cut()
			}
		} else {
			cut()
		}
		i = end
	}
	return out
}

// nearDifferences tells which characters are worth showing: the opening and what lies around a difference.
func nearDifferences(same []bool) []bool {
	shown := make([]bool, len(same))
	for i := range min(len(same), openingLen) {
		shown[i] = true
	}
	reached := 0 // up to here everything around earlier differences is marked
	for i := range same {
		if same[i] {
			continue
		}
		end := min(len(same), i+contextLen)
		for j := max(i-contextLen, reached); j < end; j++ {
			shown[j] = true
		}
		reached = max(reached, end)
	}
	return shown
}
