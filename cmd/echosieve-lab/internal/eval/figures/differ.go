package figures

import "unicode"

// Piece is a part of a text that is shown beside another text.
type Piece struct {
	Text    string `json:"text"`
	Differs bool   `json:"differs"` // the other text does not have it
	Cut     bool   `json:"cut"`     // it stands for a part that is not shown
}

const (
	passage     = 6   // both texts share a passage if they share this many letters and digits in a row
	contextLen  = 40  // characters shown around a difference
	openingLen  = 80  // characters shown of the opening in any case
	maxSideLen  = 700 // characters shown of a text
	maxDiffText = 1 << 16
)

// leftOut is shown in place of a part that is not shown.
const leftOut = " ... "

// Differ cuts two texts into pieces. Passages that the other text has nowhere are marked, and long passages
// that both texts have are left out, so that a reader sees the differences at a glance. Only letters and
// digits are compared, as in the normalised text: spaces and punctuation are no difference. Of long texts
// only the beginning is compared. Time and memory are linear in the length of the texts.
func Differ(a, b string) (left, right []Piece) {
	ra, rb := firstRunes(a), firstRunes(b)
	return pieces(ra, shared(ra, rb)), pieces(rb, shared(rb, ra))
}

func firstRunes(s string) []rune {
	runes := []rune(s)
	return runes[:min(len(runes), maxDiffText)]
}

// counting returns the letters and digits of a text, and their places.
func counting(text []rune) (chars []rune, places []int) {
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			chars, places = append(chars, r), append(places, i)
		}
	}
	return chars, places
}

// shared tells for each character of text whether it is in a passage that other has as well. A character that
// is not compared is shared unless it stands between two characters that are not shared.
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
	before, at := true, 0 // whether the last letter or digit is shared, and the index of the next one
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

// pieces cuts a text where shared passages begin and end, and leaves out parts that are far from all differences.
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

// nearDifferences tells which characters are shown: the opening, and the characters near a difference.
func nearDifferences(same []bool) []bool {
	shown := make([]bool, len(same))
	for i := range min(len(same), openingLen) {
		shown[i] = true
	}
	reached := 0 // all characters near earlier differences are marked up to this place
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
