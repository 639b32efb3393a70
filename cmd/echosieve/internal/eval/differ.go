package eval

import "unicode"

// Piece is a part of a text for showing two texts side by side.
type Piece struct {
	Text    string `json:"text"`
	Differs bool   `json:"differs"` // not in the other text
	Cut     bool   `json:"cut"`     // stands for a part that was left out
}

const (
	shingle     = 6   // characters in a row that count as the same passage
	contextLen  = 40  // characters shown around a difference
	openingLen  = 80  // characters shown of the opening in any case
	maxSideLen  = 700 // characters shown of a text
	maxDiffText = 1 << 16
)

// Differ marks in each of two texts what the other does not have, wherever it stands there, and leaves out long
// passages that both have, so that the differences can be seen at a glance.
func Differ(a, b string) (left, right []Piece) {
	ra, rb := firstRunes(a), firstRunes(b)
	return pieces(ra, shared(ra, rb)), pieces(rb, shared(rb, ra))
}

func firstRunes(s string) []rune {
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsSpace(r) {
			runes[i] = ' '
		}
	}
	return runes[:min(len(runes), maxDiffText)]
}

// shared tells for each character of text whether it lies in a passage that other has as well.
func shared(text, other []rune) []bool {
	known := make(map[[shingle]rune]bool, len(other))
	for i := 0; i+shingle <= len(other); i++ {
		known[[shingle]rune(other[i:])] = true
	}
	out := make([]bool, len(text))
	for i := 0; i+shingle <= len(text); i++ {
		if known[[shingle]rune(text[i:])] {
			for j := range shingle {
				out[i+j] = true
			}
		}
	}
	return out
}

// pieces cuts a text where it begins or ceases to be shared, and leaves out what lies far from any difference.
func pieces(text []rune, same []bool) []Piece {
	shown := make([]bool, len(text))
	for i := range min(len(text), openingLen) {
		shown[i] = true
	}
	last := -2 * contextLen // place of the last difference that was reached
	for i := range text {
		if same[i] {
			continue
		}
		for j := max(0, i-contextLen, last); j < min(len(text), i+contextLen); j++ {
			shown[j] = true
		}
		last = i
	}
	var out []Piece
	length := 0
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && same[end] == same[i] && shown[end] == shown[i] {
			end++
		}
		switch {
		case length >= maxSideLen || !shown[i]:
			if len(out) == 0 || !out[len(out)-1].Cut {
				out = append(out, Piece{Text: " ... ", Cut: true})
			}
		default:
			stop := min(end, i+maxSideLen-length)
			out = append(out, Piece{Text: string(text[i:stop]), Differs: !same[i]})
			length += stop - i
			if stop < end {
				out = append(out, Piece{Text: " ... ", Cut: true})
			}
		}
		i = end
	}
	return out
}
