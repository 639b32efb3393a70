package changes

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/sergi/go-diff/diffmatchpatch"

	"echosieve/pipeline/page"
)

// Run is a stretch of both texts. The Left fields of all runs together are the left text, and the Right
// fields the right text, but for what is too long to compare; a text of spaces only has no runs.
type Run struct {
	// Same says that both sides have the same words here. Spaces may differ, and spellings that the folding
	// makes equal.
	Same bool `json:"same"`
	// Left and Right are what the texts have here. In a run that is not the same, either may be empty, but not both.
	Left  string `json:"left"`
	Right string `json:"right"`
	// LeftRepeated and RightRepeated say of a side that it stands in a sentence that its publisher repeats.
	LeftRepeated  bool `json:"left_repeated,omitempty"`
	RightRepeated bool `json:"right_repeated,omitempty"`
}

// Side is one of two texts.
type Side struct {
	Text     string
	Repeated map[string]bool // sentences that its publisher repeats, as fold returns them
}

// mostWords bounds the words of each text that are compared, between what both begin with and what both end with: the
// time grows with their product. In place of the words behind them stands how many there are.
const mostWords = 2_000

// Align aligns two texts. Words are those of Unicode (UAX #29): in Chinese, each character is one. Two words
// are the same if fold returns the same string for both; with a nil fold, they must be equal. Spaces between
// words do not count. The result depends on the texts only, not on the speed of the machine.
func Align(left, right string, fold func(string) string) []Run {
	return AlignSides(Side{Text: left}, Side{Text: right}, fold)
}

// AlignSides is Align of texts of which it is known what their publishers repeat. Where such a sentence begins or ends,
// so does a run.
func AlignSides(left, right Side, fold func(string) string) []Run {
	l, r := split(left, fold), split(right, fold)
	start, end := 0, 0
	for start < min(len(l.keys), len(r.keys)) && l.keys[start] == r.keys[start] {
		start++
	}
	for end < min(len(l.keys), len(r.keys))-start && l.keys[len(l.keys)-end-1] == r.keys[len(r.keys)-end-1] {
		end++
	}
	n, m := len(l.keys)-start-end, len(r.keys)-start-end
	if n*m > mostWords*mostWords || n+m > utf8.MaxRune/2 { // more words than characters
		n, m = min(n, mostWords), min(m, mostWords)
	}
	runs := runs{}
	runs.take(true, l, r, start, start)
	characters := map[string]rune{}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // mostWords bounds the time
	these, those := encode(l.keys[start:start+n], characters), encode(r.keys[start:start+m], characters)
	for _, part := range d.DiffMainRunes(these, those, false) {
		switch words := utf8.RuneCountInString(part.Text); part.Type {
		case diffmatchpatch.DiffEqual:
			runs.take(true, l, r, words, words)
		case diffmatchpatch.DiffDelete:
			runs.take(false, l, r, words, 0)
		case diffmatchpatch.DiffInsert:
			runs.take(false, l, r, 0, words)
		}
	}
	runs.add(Run{Left: l.leaveOut(len(l.ends) - end), Right: r.leaveOut(len(r.ends) - end)})
	runs.take(true, l, r, end, end)
	return runs
}

type runs []Run

// take adds the next n words of the left text and m of the right one. If both take some, n is m.
func (list *runs) take(same bool, l, r *cut, n, m int) {
	for n+m > 0 {
		var a, b int
		switch {
		case m == 0:
			a = stretch(n, l)
		case n == 0:
			b = stretch(m, r)
		default:
			a = stretch(n, l, r)
			b = a
		}
		run := Run{Same: same, LeftRepeated: a > 0 && l.repeated[0], RightRepeated: b > 0 && r.repeated[0]}
		run.Left, run.Right = l.take(a), r.take(b)
		list.add(run)
		n, m = n-a, m-b
	}
}

// add adds a run, or makes the last one longer.
func (list *runs) add(r Run) {
	if r.Left+r.Right == "" {
		return
	}
	if n := len(*list); n > 0 {
		last := &(*list)[n-1]
		left := last.Left == "" || r.Left == "" || last.LeftRepeated == r.LeftRepeated
		right := last.Right == "" || r.Right == "" || last.RightRepeated == r.RightRepeated
		if last.Same == r.Same && left && right {
			last.Left, last.Right = last.Left+r.Left, last.Right+r.Right
			last.LeftRepeated = last.LeftRepeated || r.LeftRepeated
			last.RightRepeated = last.RightRepeated || r.RightRepeated
			return
		}
	}
	*list = append(*list, r)
}

// encode makes each different word a character, which is what the library compares.
func encode(keys []string, characters map[string]rune) []rune {
	encoded := make([]rune, len(keys))
	for i, key := range keys {
		if characters[key] == 0 {
			c := rune(len(characters) + 1)
			if c >= surrogates {
				c += surrogatesEnd - surrogates
			}
			characters[key] = c
		}
		encoded[i] = characters[key]
	}
	return encoded
}

// The numbers between them are no characters; a string cannot hold them.
const surrogates, surrogatesEnd = 0xd800, 0xe000

// cut is a text that was cut into words.
type cut struct {
	text string
	keys []string // words with equal keys are the same
	ends []int    // of the words that were not taken yet, each with the spaces that follow it
	at   int      // where the next word begins; the first has the spaces before it
	// repeated says of the words that were not taken yet, whether the publisher repeats their sentences.
	repeated []bool
}

// split cuts a text into words.
func split(side Side, fold func(string) string) *cut {
	s := side.Text
	t := &cut{text: s}
	var spans [][2]int // of the sentences that the publisher repeats
	if len(side.Repeated) > 0 {
		for start, end := range page.SentencesOf(s) {
			if side.Repeated[fold(strings.TrimSpace(s[start:end]))] {
				spans = append(spans, [2]int{start, end})
			}
		}
	}
	end := 0
	for iter := words.FromString(s); iter.Next(); {
		word := iter.Value()
		end += len(word)
		key := strings.TrimSpace(word)
		switch {
		case key == "" && len(t.ends) > 0:
			t.ends[len(t.ends)-1] = end
			continue
		case key == "":
			continue
		case fold != nil:
			key = fold(word)
		}
		start := end - len(word)
		for len(spans) > 0 && spans[0][1] <= start {
			spans = spans[1:]
		}
		t.keys, t.ends = append(t.keys, key), append(t.ends, end)
		t.repeated = append(t.repeated, len(spans) > 0 && spans[0][0] <= start)
	}
	return t
}

// stretch returns of how many of the next n words, in each text, all or none stand in sentences that are repeated.
func stretch(n int, texts ...*cut) int {
	for i := 1; i < n; i++ {
		for _, t := range texts {
			if t.repeated[i] != t.repeated[0] {
				return i
			}
		}
	}
	return n
}

// take returns the next words.
func (t *cut) take(n int) string {
	if n == 0 {
		return ""
	}
	end := t.ends[n-1]
	taken := t.text[t.at:end]
	t.at, t.ends, t.repeated = end, t.ends[n:], t.repeated[n:]
	return taken
}

// leaveOut passes over the next words, and returns what stands in their place.
func (t *cut) leaveOut(n int) string {
	if t.take(n); n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d more words, too many to compare]\n", n)
}
